/** Originator of an action on an alert: a member, or the holder of an API key or of the link in a notification. */
export interface Actor {
  readonly kind: 'API_KEY' | 'MEMBER' | 'LINK';
  /** Id of the key, the member, or the notification that contained the link. */
  readonly id: string;
  /** Name of the key or the member, or the name that the holder of the link entered and the channel it was sent to. */
  readonly name: string;
}

/** Used if the stored record does not name the actor. */
export const unknownActor: Actor = { kind: 'API_KEY', id: '', name: '' };
