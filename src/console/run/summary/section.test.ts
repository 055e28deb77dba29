import { fact } from '@picket/checks/summary/parts.ts';
import { probeParts } from '@picket/checks/summary/probe-parts.ts';
import { expect, it } from 'vitest';
import { summarySection } from './section.ts';

it('shows each address, with the reason of its failure and the one that a browser uses', () => {
  const passed = {
    ...{ address: '192.0.2.1', ipFamily: 'IPv4', verdict: 'passed' as const, message: null },
    ...{ responseTime: 12, isBrowsersChoice: true },
  };
  const failed = {
    ...{ address: null, ipFamily: 'IPv6', verdict: 'failed' as const, message: 'no <address>' },
    ...{ responseTime: 0, isBrowsersChoice: false },
  };
  const { addresses } = probeParts({ assertions: [], jobLog: null, addresses: [passed, failed] });
  const shown = String(addresses && summarySection(addresses));
  for (const words of ['1 of 2 respond as expected', '192.0.2.1', 'this one', 'no &lt;address&gt;'])
    expect(shown).toContain(words);
  expect(probeParts({ assertions: [], jobLog: null }).addresses).toBeUndefined();
});

it('omits facts without a value and empty sections', () => {
  const empty = { title: 'Empty', facts: [fact('Nothing', null)], texts: [], headers: {} };
  expect(summarySection(empty)).toBe('');
  const shown = String(summarySection({ title: 'Steps', facts: [fact('1. Send', '', 'failed')] }));
  expect(shown).toContain('<span class="error">failed</span>');
});
