import type { APIResponse } from '@playwright/test';

/** Marks the running check as degraded, if it does not fail otherwise; failed soft assertions alone do not fail it then. */
export declare function markCheckAsDegraded(reason?: string): void;

/** How long an API request took, in milliseconds; undefined for a response of another origin. */
export declare function getAPIResponseTime(response: APIResponse): number | undefined;

/** Options of `totp`; those of an otpauth URL are the defaults, and then what authenticator apps assume. */
export interface TotpOptions {
  /** Default: SHA1. */
  readonly algorithm?: 'SHA1' | 'SHA256' | 'SHA512';
  /** Length of the code, 6 to 10. Default: 6. */
  readonly digits?: number;
  /** How long a code is valid. Default: 30. */
  readonly periodSeconds?: number;
  /** Waits for the next code if this one is valid for a shorter time. Default: 0, never. */
  readonly minRemainingSeconds?: number;
  /** The time that the code is for, in place of now: a Date, or milliseconds of Unix time. */
  readonly at?: number | Date;
}

/**
 * The code of a second factor (RFC 6238). The agent masks the secret in everything that leaves it, not the code.
 *
 * @param secret in base32, with or without spaces, or an `otpauth://totp` URL.
 */
export declare function totp(secret: string, options?: TotpOptions): Promise<string>;
