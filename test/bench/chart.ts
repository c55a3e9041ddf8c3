import { isShown } from './markdown.ts'
import { baselinesIn, type Results } from './results.ts'

const WIDTH = 860
const LABELS = 360
const ROW = 22
/** The longest bar, as a ratio; what is longer is cut off there, its number is not. */
const MOST = 3
const SCALE = (WIDTH - LABELS - 60) / MOST

/** Readable on a light and on a dark page, whichever the reader has. */
const STYLE =
  'text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.muted{fill:#57606a}.bar{fill:#0969da}.other{fill:#8c959f}line{stroke:#d0d7de}' +
  '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.muted{fill:#9198a1}.bar{fill:#4493f8}.other{fill:#6e7681}line{stroke:#3d444d}}'

/** The results as SVG: by suite and work a bar for each baseline, as long as Quoin's requests a second are times the baseline's. */
export function chartOf(results: Results): string {
  const parts: string[] = []
  let y = 24
  const text = (x: number, words: string, kind = '') =>
    parts.push(`<text x="${Number(x.toFixed(1))}" y="${y}"${kind && ` class="${kind}"`}>${escaped(words)}</text>`)
  for (const { title, date, comparisons } of Object.values(results)) {
    const works = comparisons.filter(
      ({ work, ratios }) => isShown(work) && Object.values(ratios).some(({ requestsPerSecond }) => requestsPerSecond)
    )
    if (works.length === 0) continue
    text(0, `${title}: requests a second, as a multiple (${date})`, 'title')
    y += ROW
    const baselines = baselinesIn(works)
    baselines.forEach((baseline, index) => {
      parts.push(`<rect x="0" y="${y - 11}" width="12" height="12" class="${kindOf(index)}"/>`)
      text(20, `of ${baseline}`, 'muted')
      y += ROW
    })
    const top = y - 14
    for (const { work, ratios } of works) {
      text(0, work)
      for (const [baseline, { requestsPerSecond: ratio = 0 }] of Object.entries(ratios)) {
        const length = Math.min(ratio, MOST) * SCALE
        parts.push(
          `<rect x="${LABELS}" y="${y - 11}" width="${length.toFixed(1)}" height="14" class="${kindOf(baselines.indexOf(baseline))}"/>`
        )
        text(LABELS + length + 6, `${ratio}x`, 'muted')
        y += ROW - 4
      }
      y += 8
    }
    const one = LABELS + SCALE
    parts.push(`<line x1="${one}" y1="${top}" x2="${one}" y2="${y - 16}" stroke-dasharray="3 3"/>`)
    y += ROW
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" role="img"><title>Quoin measured against what one would run instead</title><style>${STYLE}</style>\n${parts.join('\n')}\n</svg>\n`
}

function kindOf(index: number): string {
  return index === 0 ? 'bar' : 'other'
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
