/** A proxy's address as Playwright wants it. */
export function proxyOf(proxyUrl: string | null) {
  const url = proxyUrl === null ? null : URL.parse(proxyUrl);
  if (!url) return undefined;
  const server = `${url.protocol}//${url.host}`;
  if (url.username === '') return { server };
  return { server, username: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
}
