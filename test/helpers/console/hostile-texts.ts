import naughtyStrings from 'big-list-of-naughty-strings' with { type: 'json' };

/**
 * Texts that run a script where a page forgets to escape: in texts, attributes, addresses, styles, and through broken
 * parsers.
 */
export const payloads: readonly string[] = [
  '<script>alert(1)</script>',
  '"><script>alert(2)</script>',
  "'><script>alert(3)</script>",
  '</title><script>alert(4)</script>',
  '</textarea><script>alert(5)</script>',
  '</style><script>alert(6)</script>',
  '</script><script>alert(7)</script>',
  '--><script>alert(8)</script>',
  ']]><script>alert(9)</script>',
  '<ScRiPt>alert(10)</sCrIpT>',
  '<script src=data:,alert(11)></script>',
  '<script/x>alert(12)</script>',
  '<<script>alert(13)//<</script>',
  '<scr<script>ipt>alert(14)</scr</script>ipt>',
  '<img src=x onerror=alert(15)>',
  '"><img src=x onerror=alert(16)>',
  '<img src="x" onerror="alert(17)">',
  '<img/src=x/onerror=alert(18)>',
  '<img src=x onerror\n=\nalert(19)>',
  '<img src=`x`onerror=alert(20)>',
  '<img srcset=x onerror=alert(21)>',
  '<image src=x onerror=alert(22)>',
  '<svg onload=alert(23)>',
  '<svg/onload=alert(24)>',
  '<svg><script>alert(25)</script></svg>',
  '<svg><animate onbegin=alert(26) attributeName=x>',
  '<svg><a xlink:href="javascript:alert(27)"><text y=20>x</text></a>',
  '<svg><set attributeName=href to=javascript:alert(28)>',
  '<svg><foreignObject><iframe srcdoc="<script>alert(29)</script>">',
  '<math><mtext><table><mglyph><style><img src=x onerror=alert(30)>',
  '<math href="javascript:alert(31)">x</math>',
  '<iframe src=javascript:alert(32)>',
  '<iframe srcdoc="<img src=x onerror=alert(33)>">',
  '<object data=javascript:alert(34)>',
  '<embed src=javascript:alert(35)>',
  '<a href=javascript:alert(36)>x</a>',
  '<a href="java&#10;script:alert(37)">x</a>',
  '<a href="\u0001javascript:alert(38)">x</a>',
  'javascript:alert(39)',
  'JaVaScRiPt:alert(40)',
  'data:text/html,<script>alert(41)</script>',
  'vbscript:alert(42)',
  '" onmouseover="alert(43)',
  "' onfocus='alert(44)' autofocus='",
  '" autofocus onfocus=alert(45) x="',
  '` onmouseover=alert(46) `',
  '<body onload=alert(47)>',
  '<body onpageshow=alert(48)>',
  '<details open ontoggle=alert(49)>',
  '<video><source onerror=alert(50)>',
  '<audio src=x onerror=alert(51)>',
  '<input autofocus onfocus=alert(52)>',
  '<select autofocus onfocus=alert(53)>',
  '<marquee onstart=alert(54)>',
  '<form><button formaction=javascript:alert(55)>x',
  '<meta http-equiv=refresh content="0;url=javascript:alert(56)">',
  '<base href="https://evil.example/">',
  '<link rel=stylesheet href="https://evil.example/x.css">',
  '<style>@import "https://evil.example/x.css";</style>',
  '<div style="background:url(https://evil.example/x.png)">',
  '<template><script>alert(57)</script></template>',
  '<noscript><p title="</noscript><img src=x onerror=alert(58)>">',
  '&lt;script&gt;alert(59)&lt;/script&gt;',
  '&#60;script&#62;alert(60)&#60;/script&#62;',
  '\\u003cscript\\u003ealert(61)\\u003c/script\\u003e',
  '{{constructor.constructor("alert(62)")()}}',
  '${alert(63)}',
  '<%= alert(64) %>',
  '<div hx-get="/logout" hx-trigger="load">x</div>',
  '<div hx-on:load="alert(65)" hx-on::load="alert(66)">x</div>',
  '<div class="chart" data-step="1" data-zoom="javascript:alert(67)" data-live="https://evil.example/">x</div>',
  '\u202e<img src=x onerror=alert(68)>\u202c',
  '<img src=x onerror=alert(69)//',
];

/** The payloads, and texts known to break programs. */
const all: readonly string[] = [
  ...payloads,
  ...(naughtyStrings as string[]).filter(
    (text) => text !== '' && text.isWellFormed() && !text.includes('\0'),
  ),
];

/**
 * Joins as many of the texts as fit, starting with a different one each turn: after as many turns as there are
 * payloads, each payload was in every field that is long enough.
 */
export function textsThatFit(turn: number, maxLength: number): string {
  let text = '';
  for (let step = 0; step < all.length && text.length < Math.min(maxLength, 6_000); step += 1) {
    // If a field is too short for the next text, a later one that fits is used.
    const next = all[(turn + step) % (step < payloads.length ? payloads.length : all.length)] ?? '';
    if (text.length + next.length + 1 <= maxLength) text += text === '' ? next : ` ${next}`;
  }
  return text === '' ? 'x'.repeat(Math.min(1, maxLength)) : text;
}
