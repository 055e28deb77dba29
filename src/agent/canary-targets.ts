/** A host that accepts connections as long as the network is healthy. */
export interface CanaryTarget {
  readonly host: string;
  readonly port: number;
}

const pattern = /^(\[[0-9a-fA-F:.]+\]|[\w.-]{1,253}):(\d{1,5})$/;

/** Parses `host:port` pairs, separated by commas; IPv6 addresses are in brackets. */
export function parseCanaries(text: string): {
  readonly targets: CanaryTarget[];
  readonly problems: string[];
} {
  const targets: CanaryTarget[] = [];
  const problems: string[] = [];
  for (const part of text.split(',')) {
    const entry = part.trim();
    if (entry === '') continue;
    const [, host = '', port = '0'] = pattern.exec(entry) ?? [];
    if (Number(port) >= 1 && Number(port) <= 65_535) {
      targets.push({ host: host.replaceAll(/[[\]]/g, ''), port: Number(port) });
    } else problems.push(`"${entry}" must be a host and a port, such as router.lan:443`);
  }
  return { targets, problems };
}
