/** Who did something about an alert: the holder of an API key, or of the link in a notification. */
export interface Actor {
  readonly kind: 'API_KEY' | 'LINK';
  /** Id of the key, or of the notification that the link was in. */
  readonly id: string;
  /** Name of the key, or what the holder of the link gave as name and the channel it was sent to. */
  readonly name: string;
}
