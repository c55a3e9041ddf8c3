/** What answers with a page say besides their content security policy: no window of another origin gets a handle on theirs. Source: WHATWG HTML, section 7.1.3. */
export const OF_PAGES = { 'cross-origin-opener-policy': 'same-origin' }
