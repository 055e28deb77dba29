/**
 * Decides which names this process can resolve itself, by the `hosts` line of nsswitch.conf(5).
 *
 * Our resolver supports /etc/hosts and DNS. Two modules answer for a few names only: `mdns_minimal` and its variants
 * for `.local`, `myhostname` for the host's own name, `_gateway` and `_outbound`; those names go to the system's
 * resolver and all others stay ours. systemd's `resolve` counts as DNS: resolv.conf names its server. With any other
 * module (ldap, nis, sss, wins, …) or a custom order, every name goes to the system, because such a module may know any
 * name.
 */
export interface NameServiceSwitch {
  /** True if DNS alone would resolve differently from this host. */
  isSystemOnly: boolean;
  hasMulticast: boolean;
  hasOwnHostname: boolean;
}

const multicastSource = /^mdns[46]?_minimal$/;

/** Parses nsswitch.conf(5). Without a `hosts` line the default is `files dns`, as on systems without the file. */
export function parseNameServiceSwitch(text: string): NameServiceSwitch {
  const line = /^[ \t]*hosts:(.*)$/m.exec(text.replaceAll(/#.*/g, ''))?.[1] ?? 'files dns';
  const sources = line
    .replaceAll(/\[[^\]]*\]/g, ' ')
    .trim()
    .split(/\s+/);
  const narrow = (source: string) => source === 'myhostname' || multicastSource.test(source);
  const wide = sources.filter((source) => !narrow(source));
  // `files` first, then DNS under either name; [NOTFOUND=return] right after files would skip DNS.
  const isOurs =
    wide[0] === 'files' &&
    wide.length > 1 &&
    wide.slice(1).every((source) => source === 'dns' || source === 'resolve') &&
    !/files\s*\[/.test(line);
  return {
    isSystemOnly: !isOurs,
    hasMulticast: sources.some((source) => multicastSource.test(source)),
    hasOwnHostname: sources.includes('myhostname'),
  };
}

/** Returns true if the system's resolver must look a name up. */
export function isForSystem(name: string, ownHostname: () => string, rules: NameServiceSwitch): boolean {
  if (rules.isSystemOnly) return true;
  const key = name.toLowerCase().replace(/\.$/, '');
  if (rules.hasMulticast && (key === 'local' || key.endsWith('.local'))) return true;
  return rules.hasOwnHostname && [ownHostname().toLowerCase(), '_gateway', '_outbound'].includes(key);
}
