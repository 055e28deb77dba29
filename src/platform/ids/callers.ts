import type { KeyRole } from './keys.ts';

/** An actor in an account: a program with an API key, or a member who is logged in. */
export interface Actor {
  readonly kind: 'API_KEY' | 'MEMBER';
  readonly id: string;
  readonly name: string;
}

/** Caller of an account's route. */
export interface AccountCaller {
  readonly accountId: string;
  readonly role: KeyRole;
  readonly actor: Actor;
}

/** The private location of the calling agents. */
export interface LocationCaller {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly slug_name: string;
  readonly proxy_url: string | null;
  /** The first slot missed for lack of an agent; null while the location has one. */
  readonly no_agent_since: number | null;
  /** The settings that the location asks of its agents, as JSON; null without any. */
  readonly agent_settings: string | null;
  /** The key of the calling agent. */
  readonly key_id: string;
}
