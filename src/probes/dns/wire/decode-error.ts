/** Bytes that are no DNS message. */
export class DnsDecodeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DnsDecodeError';
  }
}
