import { html, nothing, type TemplateResult } from 'lit-html'
import type { Field } from './field.ts'
import { say } from './texts.ts'
import { icon, type View } from './ui.ts'

/** How long a writer pauses before the preview follows, in milliseconds. */
const PAUSE_MS = 600

interface Preview {
  /** What it shows, or will after the pause. */
  source: string
  frame: TemplateResult
  pause?: ReturnType<typeof setTimeout>
}

/** The previews that are open. */
const previews = new WeakMap<Field, Preview>()

export interface PreviewActs {
  /** What Drupal has made of a text as it is saved, if it tells. */
  processedOf: (field: Field) => string | undefined
  /** Renders the page again. */
  onChange: () => void
}

/**
 * The button that shows what a formatted text looks like, and what it shows; nothing for other
 * fields.
 */
export function previewView(
  field: Field,
  { processedOf, onChange }: PreviewActs,
  language: string | undefined
): View {
  const {
    shape: { label, template },
    isDirty,
    text
  } = field
  if (!('format' in template)) return nothing
  const source = (isDirty ? undefined : processedOf(field)) ?? text
  const frame = (of: string) => frameOf(of, say('previewOf', { label }), language)
  const preview = previews.get(field)
  if (preview && preview.source !== source) {
    preview.source = source
    clearTimeout(preview.pause)
    preview.pause = setTimeout(() => {
      preview.frame = frame(source)
      onChange()
    }, PAUSE_MS)
  }
  return html`<div class="preview">
    <button type="button" class="small plain" aria-expanded=${preview ? 'true' : 'false'} @click=${() => {
      if (!previews.delete(field)) previews.set(field, { source, frame: frame(source) })
      onChange()
    }}>${icon('eye')}${say('preview')}<span class="spoken">${say('ofField', { label })}</span></button>
    ${preview ? html`<p class="quiet">${say('previewExplained')}</p>${preview.frame}` : nothing}
  </div>`
}

/**
 * A frame with a text of HTML in it. The sandbox takes scripts, forms, popups and the page's origin
 * from the text; the policy lets it load nothing. A link is to open a popup, so it does nothing.
 * The markup is a template of its own, since Trusted Types let lit-html's templates alone set
 * `srcdoc`: the sandbox and the text cannot come apart.
 */
function frameOf(source: string, title: string, language = ''): TemplateResult {
  const page = `<!doctype html><html lang="${escaped(language)}"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'"><meta name="color-scheme" content="light dark"><base target="_blank"><title>${escaped(title)}</title></head><body><div dir="auto">${source}</div></body></html>`
  const markup = `<iframe sandbox="" title="${escaped(title)}" srcdoc="${escaped(page)}"></iframe>`
  return html(Object.assign([markup], { raw: [markup] }))
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}
