import type { KeyRole } from './keys.ts';

/** Who does something in an account: a program with an API key, or a member who is logged in. */
export interface Actor {
  readonly kind: 'API_KEY' | 'MEMBER';
  readonly id: string;
  readonly name: string;
}

/** Who calls an account's route. */
export interface AccountCaller {
  readonly accountId: string;
  readonly role: KeyRole;
  readonly actor: Actor;
}

/** The private location whose agents call. */
export interface LocationCaller {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly slug_name: string;
  readonly proxy_url: string | null;
  /** The first slot that was missed because the location had no agent; null while it has. */
  readonly no_agent_since: number | null;
  /** The key its agent calls with. */
  readonly key_id: string;
}
