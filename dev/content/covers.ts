/** Colours of a front page's picture: sky, water, what stands in it. */
const scenes: Array<[sky: string, water: string, dark: string, light: string]> = [
  ['#f3c98b', '#2f6f7e', '#1d3a45', '#fbe9c8'],
  ['#a9cbd8', '#34617f', '#22364a', '#eef6f8'],
  ['#e59a7a', '#5a3f5c', '#33233a', '#ffe3c9'],
  ['#cfd9c0', '#4c7a63', '#27423a', '#f5f5e4'],
  ['#2c3f5e', '#16243c', '#0c1526', '#f0d48a'],
  ['#e8d9c5', '#8a5a44', '#4b2e25', '#fff7ea']
]

const rule = (x: number, y: number, width: number, height = 7) =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}"/>`

/** Lines of text as a reader sees them from afar; each paragraph ends short. */
function column(x: number, y: number, lines: number, seed: number): string {
  return Array.from({ length: lines }, (_, line) =>
    rule(x, y + line * 15, (line + seed) % 6 === 5 ? 90 : 164)
  ).join('')
}

function harbour(scene: number, y: number): string {
  const [sky, water, dark, light] = scenes[scene]!
  const crane = (x: number) =>
    `<path d="M${x} ${y + 190}V${y + 60}h12v130zM${x - 20} ${y + 62}h110v-8h-110z" fill="${dark}"/>`
  const ferry = (x: number) =>
    `<path d="M${x} ${y + 196}h150l-22 34h-106z" fill="${light}"/><path d="M${x + 28} ${y + 172}h84v24h-84z" fill="${dark}"/>`
  return (
    `<rect x="30" y="${y}" width="540" height="260" fill="${sky}"/>` +
    `<circle cx="${140 + scene * 62}" cy="${y + 74}" r="34" fill="${light}"/>` +
    `<path d="M30 ${y + 190}h540v70H30z" fill="${water}"/>` +
    crane(80 + scene * 20) +
    crane(220 + scene * 20) +
    ferry(330 - scene * 24)
  )
}

/**
 * A front page drawn in SVG, the nth of six; it goes by the name of a photograph, as the sample
 * site's editions refer to it.
 */
export function coverFile(nth: number): { type: string; body: string } {
  const scene = nth % scenes.length
  const [, , dark] = scenes[scene]!
  const columns = [30, 218, 406].map((x, index) => column(x, 590, 12, scene + index)).join('')
  return {
    type: 'image/svg+xml',
    body:
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 800"><rect width="600" height="800" fill="#fbfaf5"/>' +
      '<text x="300" y="76" text-anchor="middle" font-family="Georgia,serif" font-size="52" font-weight="bold" fill="#1b1b1b">The Harbour Courier</text>' +
      `<g fill="#1b1b1b">${rule(30, 96, 540, 3)}${rule(30, 126, 540, 2)}</g><g fill="#8d8a83">${rule(30, 107, 120)}${rule(450, 107, 120)}</g>` +
      `<g fill="${dark}">${rule(30, 150, 500, 30)}${rule(30, 190, 360 + scene * 24, 30)}</g>` +
      harbour(scene, 245) +
      `<g fill="${dark}">${rule(30, 530, 150, 16)}${rule(218, 530, 120, 16)}${rule(406, 530, 160, 16)}${rule(30, 554, 110, 16)}${rule(218, 554, 158, 16)}${rule(406, 554, 90, 16)}</g>` +
      `<g fill="#b9b5ab">${columns}</g></svg>`
  }
}
