import { z } from 'zod';

/** URL of a receiver. */
export function httpUrl(meaning: string) {
  return z
    .string()
    .max(2048)
    .regex(/^https?:\/\/\S+$/i, 'must be an http or https URL')
    .describe(meaning);
}

/** Distinguishes channels of the same type. */
export const channelName = z.string().max(255).default('');

export const phoneNumber = z
  .string()
  .regex(/^\+[1-9]\d{4,14}$/, 'must be a phone number such as +491701234567');

/** Whether a text is the URL of a webhook at one of these hosts, or at a name below one. */
export function isWebhookAt(text: string, hosts: readonly string[]): boolean {
  const url = URL.parse(text);
  return url?.protocol === 'https:' && hosts.some((host) => `.${url.host}`.endsWith(`.${host}`));
}
