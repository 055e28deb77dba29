/** Who did something about an alert: a member, the holder of an API key, or of the link in a notification. */
export interface Actor {
  readonly kind: 'API_KEY' | 'MEMBER' | 'LINK';
  /** Id of the key, the member, or the notification that the link was in. */
  readonly id: string;
  /** Name of the key or the member, or what the holder of the link gave as name and the channel it was sent to. */
  readonly name: string;
}

/** Where what is stored does not say who it was. */
export const unknownActor: Actor = { kind: 'API_KEY', id: '', name: '' };
