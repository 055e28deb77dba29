import { describe, expect, it } from 'vitest';
import { parseEgressRules } from './rules.ts';

describe('parseEgressRules', () => {
  it('accepts addresses, networks and names, with spaces and empty entries', () => {
    const { rules, problems } = parseEgressRules(' 10.0.0.1 ,fd00::/8,, *.Example.com.,db-*.prod, * ');
    expect(problems).toEqual([]);
    expect(rules.map(({ text }) => text)).toEqual([
      '10.0.0.1',
      'fd00::/8',
      '*.Example.com.',
      'db-*.prod',
      '*',
    ]);
    expect(rules[2]).toEqual({ text: '*.Example.com.', hostPattern: '*.example.com' });
    expect(parseEgressRules('')).toEqual({ rules: [], problems: [] });
  });

  it.each([
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'fd00::/129',
    '10/8',
    '010.0.0.0/8',
    'example.com/8',
    '127.1',
    '0x7f000001',
    '2130706433',
    '10.*',
    '10.0.0.256',
    '10.0.0.1:80',
    'example.com:443',
    'http://example.com',
    '.example.com',
    'bücher.example',
    'two words',
    'fe80::1%eth0',
  ])('refuses %s', (entry) => {
    const { rules, problems } = parseEgressRules(`10.0.0.1,${entry}`);
    expect(rules).toHaveLength(1);
    expect(problems).toEqual([expect.stringContaining(JSON.stringify(entry))]);
  });
});
