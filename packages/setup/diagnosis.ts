/** What one check has found: all right, wrong and what to do, or not checked and why. */
export type Diagnosis =
  | { state: 'ok'; what: string }
  | { state: 'wrong'; what: string; remedy?: string }
  | { state: 'unchecked'; what: string; why: string }

export const ok = (what: string): Diagnosis => ({ state: 'ok', what })
/** Without a remedy where `what` says it already. */
export const wrong = (what: string, remedy?: string): Diagnosis => ({
  state: 'wrong',
  what,
  ...(remedy !== undefined && { remedy })
})
export const unchecked = (what: string, why: string): Diagnosis => ({
  state: 'unchecked',
  what,
  why
})

/**
 * One line for a terminal, without colours. Names come from elsewhere: no control character of
 * theirs gets there.
 */
export function line(finding: Diagnosis): string {
  return text(finding).replace(/\p{Cc}+/gu, ' ')
}

function text(finding: Diagnosis): string {
  switch (finding.state) {
    case 'ok':
      return `ok   ${finding.what}`
    case 'wrong':
      return `!    ${finding.what}${finding.remedy === undefined ? '' : `: ${finding.remedy}`}`
    case 'unchecked':
      return `-    ${finding.what}: ${finding.why}`
  }
}

/** Writes each finding as soon as it is there; resolves with whether nothing is wrong. */
export async function report(
  findings: AsyncIterable<Diagnosis>,
  write: (line: string) => void
): Promise<boolean> {
  let right = true
  for await (const finding of findings) {
    write(line(finding))
    if (finding.state === 'wrong') right = false
  }
  return right
}
