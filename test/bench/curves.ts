/** Something that was counted as something else grew. */
export interface Curve {
  title: string
  /** What grows, and what was counted. */
  x: string
  y: string
  /** Points in the order of x, by what they are of. */
  series: Record<string, Array<[x: number, y: number]>>
  /** Why the curves have this shape. */
  why: string
}

const WIDTH = 860
const LEFT = 60
const PLOT = 200
const HEIGHT = PLOT + 110
const COLOURS = ['#0969da', '#bc4c00']

/** Readable on a light and on a dark page, whichever the reader has. */
const STYLE =
  'text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.muted{fill:#57606a}polyline{fill:none;stroke-width:2}line{stroke:#d0d7de}' +
  '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.muted{fill:#9198a1}line{stroke:#3d444d}}'

/** Curves as SVG, one plot below the other, each with the reason for its shape. */
export function curvesOf(curves: Curve[]): string {
  const plots = curves.map((curve, index) => `<g transform="translate(0 ${index * HEIGHT})">\n${plotOf(curve)}\n</g>`)
  const height = curves.length * HEIGHT
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img"><title>What grows with what</title><style>${STYLE}</style>\n${plots.join('\n')}\n</svg>\n`
}

function plotOf({ title, x, y, series, why }: Curve): string {
  const points = Object.values(series).flat()
  const [mostX, mostY] = [Math.max(...points.map(([one]) => one)), Math.max(1, ...points.map(([, one]) => one))]
  const at = ([one, other]: [number, number]) =>
    [LEFT + (one / mostX) * (WIDTH - LEFT - 40), 50 + PLOT * (1 - other / mostY)].map((place) => place.toFixed(1))
  const text = (left: number | string, top: number | string, words: string, kind = 'muted') =>
    `<text x="${left}" y="${top}" class="${kind}">${words}</text>`
  return [
    text(0, 18, title, 'title'),
    text(0, 36, why),
    `<line x1="${LEFT}" y1="${50 + PLOT}" x2="${WIDTH - 40}" y2="${50 + PLOT}"/>`,
    text(0, 60, String(Math.round(mostY))),
    text(0, 50 + PLOT, '0'),
    text(LEFT, 68 + PLOT, `0 to ${mostX}: ${x}; upwards: ${y}`),
    ...Object.entries(series).flatMap(([name, line], index) => [
      `<polyline stroke="${COLOURS[index]}" points="${line.map((point) => at(point).join()).join(' ')}"/>`,
      `<text x="${LEFT + 300 + index * 250}" y="${68 + PLOT}" style="fill:${COLOURS[index]}">${name}</text>`
    ])
  ].join('\n')
}
