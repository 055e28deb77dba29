import type { APIResponse } from '@playwright/test';

/** Marks the running check as degraded, if it does not fail otherwise; failed soft assertions alone do not fail it then. */
export declare function markCheckAsDegraded(reason?: string): void;

/** How long an API request took, in milliseconds; undefined for a response of another origin. */
export declare function getAPIResponseTime(response: APIResponse): number | undefined;
