/** A connect that was begun; through a proxy, that to the proxy. */
export interface ConnectionAttempt {
  /** Whom the connection is for, also through a proxy. */
  readonly hostname: string;
  /** Whether TLS is meant to follow. */
  readonly isSecure: boolean;
  /** Where it goes. */
  readonly address: string;
  readonly port: number;
  /** This end's port; undefined once the connection is closed. */
  localPort(): number | undefined;
}
