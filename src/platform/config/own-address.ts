import { z } from 'zod';

/**
 * Public address of the service: a scheme, a host and an optional port. Links, cookies and redirects start at its root,
 * so it must not have a path.
 */
export const ownAddress = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .superRefine((text, context) => {
    const url = URL.parse(text);
    if (!url) return;
    const refuse = (message: string) => context.addIssue({ code: 'custom', message });
    if (url.username !== '' || url.password !== '') refuse('must not contain a user name or password');
    if (url.pathname !== '/') {
      refuse(`must have no path: "${url.pathname}" does not work. Give the service a host name of its own`);
    }
    if (url.search !== '' || url.hash !== '') refuse('must end after the host: no "?" and no "#"');
  });
