import { z } from 'zod';

/**
 * The address that the service is reached at: a scheme, a host and perhaps a port. Links, cookies and redirects start at
 * the root of it, so that nothing behind the host is possible.
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
