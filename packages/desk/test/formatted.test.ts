import t from 'tap'
import { Slice } from 'prosemirror-model'
import fc from '../../../test/fixtures/property.ts'
import { hasPicture, isAddress, linesOf, openText, pastedOf, schema, write } from '../page/formatted.ts'
import { decode, essence, NotKept, tokensOf, type Reason } from '../page/markup.ts'

/** A text as the editor writes it that has opened it. */
function again(source: string): string {
  const { doc, separator } = openText(source)
  return write(doc, separator)
}

/** Why the editor does not open a text. */
function reasonOf(source: string): Reason | undefined {
  try {
    openText(source)
    return undefined
  } catch (error) {
    if (error instanceof NotKept) return error.reason
    throw error
  }
}

const MEDIA =
  '<drupal-media data-entity-type="media" data-entity-uuid="0b6f0fa6-1111-4f6f-8c0e-aa1c3c1d2e3f" data-view-mode="default" data-align="left" data-caption="A &quot;quay&quot; &amp;lt;em&amp;gt;">&nbsp;</drupal-media>'
const TABLE =
  '<table class="wide"><caption>Fares</caption><thead><tr><th scope="col">Zone</th></tr></thead><tbody><tr><td>1 &amp; 2<br>3</td></tr></tbody></table>'

t.test('markup of Drupal stays letter by letter', async (t) => {
  const texts = [
    '',
    '<p></p>',
    '<p>Plain</p>',
    '<p>One</p><p>Two</p>',
    '<p>One</p>\n\n<p>Two</p>\n\n<h2 id="a" class="b c">Three</h2>',
    '<p class="lead" data-x="">A <strong>bold <em>and slanted</em></strong> word, <em>b <strong>c</strong> d</em>, <a href="/node/12" data-entity-type="node" data-entity-uuid="u-1" data-entity-substitution="canonical">a <code>link</code></a>.</p>',
    '<p><em><strong>x</strong></em> <strong><em>y</em></strong> <span lang="fr" dir="ltr">mot</span> <u>u</u><s>s</s>H<sub>2</sub>O</p>',
    '<ul><li>One</li><li>Two<ul><li>Three<ol start="4" reversed=""><li>Four</li></ol></li></ul></li><li></li></ul>',
    '<ol type="a"><li><p>In a paragraph</p><p>Another</p></li><li data-list-item-id="e1">Line<br>break</li><li><h3>Head</h3></li></ol>'.replace(
      '<li><h3>Head</h3></li>',
      '<li>After<h3>Head</h3></li>'
    ),
    `<p>Before</p>${MEDIA}<p>After</p>`,
    `<p>In a line ${MEDIA} goes on <img src="/a.png" alt="A &lt; B" data-entity-type="file" data-entity-uuid="u" width="10"> here</p>`,
    `<h2>Fares</h2>${TABLE}<!-- a comment <p> --><hr><p>End<!--break--></p>`,
    '<figure role="group"><img src="x"><figcaption>C</figcaption></figure><div class="box"><p>Kept <b>as it is</b><div></div></p></div>',
    '<blockquote><p>Said</p><ul><li>A</li></ul></blockquote><blockquote class="x">Loose words<br>kept</blockquote>',
    '<pre><code class="language-js">if (a &lt; b) {\n  c()\n}</code></pre><script type="text/x">a < b && "</p>"</script><style>p > a {}</style>',
    '<p>{{ content.field_x|raw }} {% if a == "b" %}[node:title] {# x #} &lt;3 &gt; &amp; &nbsp; é –</p>',
    '<p>{{ drupal_view(\'x\', "y") }}</p>',
    '<p><strong>All <br>bold</strong></p><p>a<br class="x"><br>b</p>'
  ]
  for (const text of texts) {
    t.equal(again(text), text)
    t.equal(essence(text), essence(again(text)))
  }
})

t.test('what may change is how the same is spelled', async (t) => {
  const rows: Array<[source: string, result: string]> = [
    ['<P CLASS=lead data-x=\'a "b"\'>A</P>', '<p class="lead" data-x="a &quot;b&quot;">A</p>'],
    ['<ol reversed><li>a</li></ol>', '<ol reversed=""><li>a</li></ol>'],
    ['<p>A<br />B<br/></p>', '<p>A<br>B<br></p>'],
    ['<p>caf&eacute; &#8211; &#x2014; &quot;so&quot; &nbsp;\u00a0</p>', '<p>café – — "so" &nbsp;&nbsp;</p>'],
    ['<p>a > b, 1 < 2 & 3</p>', '<p>a &gt; b, 1 &lt; 2 &amp; 3</p>'],
    ['<p><a href="/?a=1&b=2&copy=3">x</a></p>', '<p><a href="/?a=1&amp;b=2&amp;copy=3">x</a></p>'],
    ['\r\n<p>\r\n  One\r\n  line\r\n</p>\r\n<p>Two</p>\r\n', '<p>One line</p>\r\n<p>Two</p>'],
    [
      '<ul>\n\t<li>One</li>\n\t<li>Two\n\t<ul>\n\t\t<li>Three</li>\n\t</ul>\n\t</li>\n</ul>\n',
      '<ul><li>One</li><li>Two<ul><li>Three</li></ul></li></ul>'
    ]
  ]
  for (const [source, result] of rows) {
    t.equal(again(source), result, source)
    t.equal(again(result), result)
  }
})

t.test('what the editor could not keep is left to the source, with a reason', async (t) => {
  const rows: Array<[Reason, ...string[]]> = [
    ['loose', 'Words without a paragraph', '<p>A</p>and more', '<strong>x</strong>', 'a<br>b', '{{ twig }}'],
    [
      'broken',
      '<p>never closed',
      '<p>a<p>b</p>',
      '<p><strong>a</p></strong>',
      '</p>',
      '<p>a</div></p>',
      '<ul>x</ul>',
      '<ul><li>a</ul>',
      '<p><div>a</div></p>',
      '<p a="b>c</p>',
      '<!-- <p>a</p>',
      '<!doctype html><p>a</p>',
      '<drupal-media data-x="1" />',
      '<table><tr>',
      '<script>x',
      '<p>a',
      '<p>a <? x ?></p>',
      '<li>a</li><ul>',
      '<ul><li><b>a</ul>'
    ],
    [
      'unusual',
      '<p><strong>a</strong><strong>b</strong></p>',
      '<p>a<em></em></p>',
      '<p>&unknown;</p>',
      '<p>AT&T</p>',
      '<p>&#128;</p>',
      '<p>&#x110000;</p>',
      '<p>&copy 2026</p>',
      '<p><a href="?a&b">x</a></p>',
      '<p>&copy=</p>',
      '<p>&#xd800;</p>',
      '<p>{{ a &quot;b }}</p>',
      '<p>{% if a && b %}</p>',
      '<ul></ul>',
      '<ul><li>a<ul><li>b</li></ul>c</li></ul>'.replace('c</li>', '</li><!-- c -->'),
      '<p class="a" class="b"><b><b>x</b></b></p>',
      `${'<blockquote>'.repeat(40)}<p>x</p>${'</blockquote>'.repeat(40)}`,
      `<p>${'<b><i>'.repeat(15)}x${'</i></b>'.repeat(15)}</p>`
    ],
    ['long', `<p>${'x'.repeat(100_000)}</p>`]
  ]
  for (const [reason, ...sources] of rows) {
    for (const source of sources) {
      t.equal(reasonOf(source), source.includes('<!-- c') ? 'broken' : source.includes('tail') ? 'loose' : reason, source.slice(0, 100))
    }
  }
  t.equal(reasonOf('<ul><li>a<ul><li>b</li></ul>tail</li></ul>'), 'loose')
})

t.test('whatever is opened stays as it is, and what is written is opened again', async () => {
  const pieces = fc.constantFrom(
    '<p>',
    '</p>',
    '<strong>',
    '</strong>',
    '<em class="x">',
    '</em>',
    '<ul>',
    '</ul>',
    '<li>',
    '</li>',
    '<br>',
    'a',
    ' ',
    '\n',
    '&amp;',
    '&nbsp;',
    '<!-- c -->',
    '<img src=x>',
    '<table>',
    '</table>',
    '{{ x }}',
    '<h2>',
    '</h2>',
    '<blockquote>',
    '</blockquote>',
    MEDIA,
    '<',
    '&',
    '"'
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 20 }), (parts) => {
      const source = parts.join('')
      if (reasonOf(source) !== undefined) return true
      const result = again(source)
      return essence(result) === essence(source) && again(result) === result
    })
  )
  const words = fc
    .array(fc.constantFrom('<p>a</p>', '<p><em>b</em> c</p>', `<p>${MEDIA}</p>`, '<ul><li>d</li></ul>', TABLE), {
      minLength: 1,
      maxLength: 6
    })
    .map((blocks) => blocks.join('\n'))
  fc.assert(fc.property(words, (source) => again(`<p>x</p>\n${source}`) === `<p>x</p>\n${source}`))
})

/** A paragraph that Word means for an item of a list, as it puts it into the clipboard. */
const wordItem = (level: number, marker: string, text: string, list = 0) =>
  `<p class=MsoListParagraphCxSpMiddle style='margin-left:36pt;mso-list:l${list} level${level} lfo1'><![if !supportLists]><span style='font-family:Symbol'><span style='mso-list:Ignore'>${marker}<span style='font:7.0pt "Times New Roman"'>&nbsp;&nbsp;&nbsp; </span></span></span><![endif]>${text}<o:p></o:p></p>`

t.test('what is pasted is cleaned', async (t) => {
  /** What is left of it, as HTML. */
  const pasted = (html: string) => {
    const content = pastedOf(html)
    const doc = schema.nodeFromJSON({ type: 'doc', content: content.length > 0 ? content : [{ type: 'paragraph' }] })
    doc.check()
    Slice.maxOpen(doc.content)
    return write(doc, '')
  }
  const rows: Array<[html: string, result: string]> = [
    [
      '<meta charset="utf-8"><b style="font-weight:normal" id="docs-internal-guid-1"><p dir="ltr" style="color:red"><span style="font-weight:700">One</span></p><p>Two</p></b>',
      '<p>One</p><p>Two</p>'
    ],
    [
      '<html xmlns:o="urn"><head><title>x</title><style>p {}</style></head><body><!--StartFragment--><p class=MsoNormal>Word <o:p></o:p><b>bold</b></p><!--EndFragment--></body></html>',
      '<p>Word <b>bold</b></p>'
    ],
    [
      '<p onclick="x()">a<script>alert(1)</script><img src=x onerror=y><svg onload=x><text>t</text></svg> <a href="javascript:x()">b</a> <a href=" https://a.example/?x=1&amp;y=2" target=_blank onclick=z>c</a></p>',
      '<p>a b <a href="https://a.example/?x=1&amp;y=2">c</a></p>'
    ],
    ['<h1>Head</h1><div>Text<div>inner</div></div>tail', '<h2>Head</h2><p>Text</p><p>inner</p><p>tail</p>'],
    ['<ul><li>a<ul><li>b</li></ul></li><li><p>c</p></li><li></li></ul><ol></ol>', '<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>'],
    ['<ul><ul><li>a</li></ul></ul><li>b</li>', '<ul><li>a</li></ul><p>b</p>'],
    ['<ul><li><ul><li>a</li></ul></li></ul>', '<ul><li><ul><li>a</li></ul></li></ul>'],
    ['<table><tr><td>a</td><td>b</td></tr></table>', '<p>a</p><p>b</p>'],
    ['a < b &unknown; &amp; <p', '<p>a &lt; b &amp;unknown; &amp; &lt;p</p>'],
    ['<em><em>a</em></em></strong>', '<p><em>a</em></p>'],
    ['<b>bold</b>', '<p><b>bold</b></p>'],
    [
      `${wordItem(1, '·', 'One')}\n${wordItem(1, '·', '<b>Two</b>')}${wordItem(2, 'o', 'Deep')}${wordItem(1, '·', 'Three')}<p class=MsoNormal>After</p>`,
      '<ul><li>One</li><li><b>Two</b><ul><li>Deep</li></ul></li><li>Three</li></ul><p>After</p>'
    ],
    [
      `<p>Before</p>${wordItem(1, '1.', 'One')}${wordItem(2, 'a)', 'Deep')}${wordItem(2, '·', 'Other')}${wordItem(1, '2.', 'Two', 3)}`,
      '<p>Before</p><ol><li>One<ol><li>Deep</li></ol><ul><li>Other</li></ul></li></ol><ol><li>Two</li></ol>'
    ],
    [wordItem(3, '§', 'Deep'), '<ul><li>Deep</li></ul>'],
    ['<p style="mso-list:l0 level1 lfo1">Bare</p><p style="mso-list:l0 level0 lfo1">Other</p>', '<ul><li>Bare</li><li>Other</li></ul>'],
    ['<p style="mso-list:l0 level1 lfo1">Bare<p><span style="mso-list:Ignore">1.', '<ul><li>Bare</li></ul>'],
    ['<p style="mso-list:l0 level1 lfo1">Last', '<ul><li>Last</li></ul>'],
    ['', '']
  ]
  for (const [html, result] of rows) t.equal(pasted(html), result, html)
  t.strictSame(
    linesOf('a\r\n\r\n b').map(({ content }) => content![0]!.text),
    ['a', ' b']
  )
  fc.assert(
    fc.property(
      fc.array(
        fc.constantFrom(
          '<p>',
          '</p>',
          '<ul>',
          '</ul>',
          '<li>',
          '</li>',
          '<b>',
          '</b>',
          '<a href=x>',
          '</a>',
          '<h3>',
          '</h3>',
          '<td>',
          '<svg>',
          '</svg>',
          'a',
          ' ',
          '<br>',
          '<'
        ),
        { maxLength: 25 }
      ),
      (parts) => reasonOf(pasted(parts.join(''))) !== 'broken'
    )
  )
})

t.test('a picture that is pasted is noticed', async (t) => {
  for (const html of ['<p>a<IMG src=x></p>', '<picture><source></picture>', '<v:imagedata src="x">']) t.ok(hasPicture(html), html)
  for (const html of ['', '<p>img</p>', '<image-like>']) t.notOk(hasPicture(html), html)
})

t.test('a long text with Word’s lists is read in a time that grows as it does', async (t) => {
  const began = performance.now()
  pastedOf(`${'<p style="mso-list:l0 level1 lfo1">'.repeat(20_000)}${'<!['.repeat(50_000)}`)
  t.ok(performance.now() - began < 5000)
})

t.test('a link goes to an address of the web, a mail, or within the site', async (t) => {
  for (const url of [
    'https://a.example',
    'http://a',
    '/node/1',
    'node/1',
    '#top',
    '?a=b:c',
    'mailto:a@b.example',
    'tel:+49',
    'entity:node/1',
    'internal:/x'
  ]) {
    t.ok(isAddress(url), url)
  }
  for (const url of ['javascript:alert(1)', ' java\nscript:x', 'data:text/html,x', 'vbscript:x', 'file:///x', '']) {
    t.notOk(isAddress(url), url)
  }
})

t.test('characters are decoded as browsers do', async (t) => {
  t.equal(decode('&lt;&#65;&#x42;&Auml;&yuml;'), '<ABÄÿ')
  t.strictSame(
    tokensOf('<p>a</p>').map(({ kind }) => kind),
    ['open', 'text', 'close']
  )
})

t.test('the page shows nothing of a text but its words, and what it is', async (t) => {
  const { doc } = openText(
    `<p class="x" style="color:red" lang="fr">a <a href="javascript:x()" onclick="y" dir="rtl">b</a><br><img src="x" onerror="${'y'.repeat(100)}"></p><h3>c</h3><blockquote><p>d</p></blockquote><ul><li>e</li></ul><ol start="3"><li>f</li></ol>${MEDIA}<hr>`
  )
  const specs: unknown[] = []
  doc.descendants((node) => {
    for (const mark of node.marks) specs.push(mark.type.spec.toDOM!(mark, true))
    if (!node.isText) specs.push(node.type.spec.toDOM!(node))
  })
  const image = `<img src="x" onerror="${'y'.repeat(100)}">`
  t.strictSame(specs, [
    ['p', { lang: 'fr' }, 0],
    ['a', { dir: 'rtl' }, 0],
    ['br'],
    ['span', { class: 'piece', title: image }, `${image.slice(0, 80)}…`],
    ['h3', {}, 0],
    ['blockquote', {}, 0],
    ['p', {}, 0],
    ['ul', {}, 0],
    ['li', {}, 0],
    ['p', {}, 0],
    ['ol', { start: '3' }, 0],
    ['li', {}, 0],
    ['p', {}, 0],
    ['div', { class: 'piece', title: MEDIA }, `${MEDIA.slice(0, 80)}…`],
    ['div', { class: 'piece', title: '<hr>' }, '<hr>']
  ])
})
