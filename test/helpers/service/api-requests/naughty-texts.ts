import knownTexts from 'big-list-of-naughty-strings' with { type: 'json' };

/** Texts known to break programs, by kind. */
const byKind: Readonly<Record<string, readonly string[]>> = {
  words: [
    'undefined',
    'null',
    'NaN',
    'true',
    'constructor',
    '__proto__',
    'hasOwnProperty',
    'toString',
    'then',
  ],
  numbers: ['0', '-1', '1e309', '0x10', '1/0', '00', '1,5', '٣', '½', '9007199254740993', '1_000'],
  spaces: [' ', '\t', '\n', '\r\n', '\u00a0', '\u2028', '\u2029', '\ufeff', '\u200b', '\u3000x\u3000'],
  controls: ['\u0000', 'a\u0000b', '\u0001\u0002\u0008\u000b\u001b[31m\u007f\u0085\u009f'],
  halves: ['\ud83d', 'a\udc00b', '\udc00\ud83d'],
  directions: ['\u202eabc\u202c', '\u2066x\u2069', 'עברית abc العربية', '\u200f'],
  marks: ['Z̸̡͖̗a̵̢̮͇l̶̘̈́g̷̺͌o̷', 'e\u0301', '\u0301', '각', 'ﷺ'],
  pictures: ['👩‍👩‍👧‍👦', '🏳️‍🌈', '👍🏿', '🇦🇹', '\u{1f9d1}\u200d\u{1f680}', '✊\ufe0e'],
  cases: ['ß', 'ﬁ', 'İ', 'ı', 'K', 'ǅ', 'Å'],
  quotes: ["'", '"', '`', "''''", '"\'`', '‘’“”', '\\', '\\\\"', "\\'"],
  markup: [
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '&lt;',
    '&#0;',
    '<!--',
    ']]>',
    '<?xml version="1.0"?>',
  ],
  queries: [
    "' OR 1=1 --",
    "'; DROP TABLE checks; --",
    '%',
    '_',
    '%%',
    '\\%',
    '$1',
    '?',
    ':name',
    '{"$gt":""}',
  ],
  shells: [
    '$(id)',
    '`id`',
    '; id',
    '| id',
    '${IFS}',
    '${jndi:ldap://x}',
    '{{7*7}}',
    '%s%n',
    '../../etc/passwd',
    'C:\\x',
    'file:///etc/passwd',
  ],
  urls: ['http://a@b@c', 'javascript:alert(1)', '//x', 'http://[::1]', '%00', '%2e%2e%2f', '#', '?a=b&c'],
  long: ['x'.repeat(255), 'é'.repeat(255), '👍'.repeat(127), 'a b '.repeat(60)],
};

/** Our texts and the well-known ones, without duplicates. */
export const naughtyTexts: readonly string[] = [
  ...new Set([...(knownTexts as string[]), ...Object.values(byKind).flat()]),
];
