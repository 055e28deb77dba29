import type { KeyRole } from '../../../src/platform/ids/keys.ts';
import { invite } from '../../../src/service/members/members.ts';
import { acceptInvitation } from '../../../src/service/members/passwords.ts';
import type { ServiceHarness } from './service.ts';
import { Visitor } from './visitor.ts';

export const goodPassword = 'four words are enough';

/** Makes a person a member, by an invitation that an operator passed on. Returns the member's id. */
export async function addMember(
  harness: ServiceHarness,
  email: string,
  role: KeyRole,
  of: { readonly accountId?: string; readonly password?: string } = {},
): Promise<string> {
  const { accountId = harness.accountId, password = goodPassword } = of;
  const { token } = await invite(harness, { accountId, email, role, by: 'the tests' });
  const taken = await acceptInvitation(harness, token, { name: '', password });
  if (!taken) throw new Error(`${email} could not take the invitation`);
  return taken.person.id;
}

let visitors = 0;

/** A browser with its own address: login attempts are limited by address. */
export function newVisitor(harness: ServiceHarness): Visitor {
  visitors += 1;
  return new Visitor(harness.app, { address: `198.51.${visitors >> 8}.${visitors & 255}` });
}

/** A browser in which a member has logged in with their password. */
export async function memberLoggedIn(
  harness: ServiceHarness,
  email: string,
  password = goodPassword,
): Promise<Visitor> {
  const visitor = newVisitor(harness);
  const { status, body } = await visitor.post('/login/password', { email, password });
  if (status !== 303) throw new Error(`logging in was answered with ${status}: ${body}`);
  return visitor;
}
