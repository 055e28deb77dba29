import { expect, it } from 'vitest';
import type { AddressVerdict } from '../../../checks/addresses/fields.ts';
import { addressSection } from './addresses.ts';

it('shows each address, with why it failed and which a browser uses', () => {
  const well: AddressVerdict = {
    ...{ address: '192.0.2.1', ipFamily: 'IPv4', verdict: 'passed', code: null, message: null },
    ...{ responseTime: 12, isBrowsersChoice: true },
  };
  const dead: AddressVerdict = {
    ...{
      address: null,
      ipFamily: 'IPv6',
      verdict: 'failed',
      code: 'NAME_NOT_FOUND',
      message: 'no <address>',
    },
    ...{ responseTime: 0, isBrowsersChoice: false },
  };
  const shown = String(addressSection([well, dead]));
  expect(shown).toContain('1 of 2 answer as they should');
  expect(shown).toContain('192.0.2.1');
  expect(shown).toContain('this one');
  expect(shown).toContain('no &lt;address&gt;');
  expect(addressSection(undefined)).toBe('');
});
