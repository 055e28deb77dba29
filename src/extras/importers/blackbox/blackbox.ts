import { recordTypes } from '@picket/lib/dns-record-type.ts';
import type { Fields } from '@picket/protocol/projects/kind.ts';
import { type Assertion, Collection, frequencyOf, type Imported, type ImportOptions } from '../collection.ts';
import { secondsOf, wholeMatch } from '../go-formats.ts';
import { Source } from '../source.ts';
import { readDialogue } from './dialogue.ts';
import { readGrpc } from './grpc.ts';
import { type Probe, readHttp, tlsFields, tlsVersions } from './http.ts';
import { readTargets } from './targets.ts';

/** Imports modules of the blackbox exporter, and the targets that Prometheus probes with them. */
export function importBlackbox(
  { modules: configuration, targets: written }: { readonly modules: unknown; readonly targets: unknown },
  options: ImportOptions,
): Imported {
  const collection = new Collection(options);
  const root = new Source(configuration, '', collection.losses);
  const modules = root.child('modules');
  const [only, ...others] = modules.keys;
  const targets = readTargets(written, others.length === 0 ? only : undefined, collection.losses);
  const used = new Set(targets.map(({ module }) => module));
  for (const name of modules.keys) {
    if (!used.has(name)) {
      modules.lose(name, 'no target uses it');
      continue;
    }
    const module = modules.child(name);
    const fields = readModule(module, collection, name);
    if (!fields) {
      module.skip(...module.keys);
      for (const one of targets.filter((target) => target.module === name)) {
        collection.losses.push({ field: one.field, reason: `its module ${name} is not carried over` });
      }
      continue;
    }
    for (const one of targets.filter((target) => target.module === name)) {
      const { checkType, ...rest } = fields;
      const { fields: frequency, seconds } = frequencyOf(checkType, one.intervalSeconds);
      if (seconds !== one.intervalSeconds) {
        collection.losses.push({
          field: one.field,
          reason: `it is probed every ${one.intervalSeconds} seconds: every ${seconds} seconds instead`,
        });
      }
      const tags = Object.entries(one.labels).map(([key, value]) => `${key}:${value}`);
      const request = targetRequest(fields, one.target);
      if (!request) {
        collection.losses.push({
          field: one.field,
          reason: `it is not a target for ${checkType}`,
        });
        continue;
      }
      collection.add('checks', `${one.target} ${name}`, {
        checkType,
        name: one.labels['instance'] ?? `${one.target} (${name})`,
        ...frequency,
        doubleCheck: false,
        ...(tags.length > 0 ? { tags } : {}),
        privateLocations: [collection.location],
        degradedResponseTime: null,
        ...rest,
        request,
      });
    }
  }
  for (const name of used) {
    if (!modules.keys.includes(name)) {
      collection.losses.push({
        field: `modules.${name}`,
        reason: 'targets name it, but the file does not contain it',
      });
    }
  }
  root.finish();
  return collection.finish();
}

interface ModuleFields extends Fields {
  readonly checkType: Probe['checkType'];
  readonly request: Fields;
}

function readModule(module: Source, collection: Collection, name: string): ModuleFields | undefined {
  const prober = module.text('prober') ?? '';
  const read = probers[prober];
  if (!read) {
    module.lose('', `Picket has no check for the prober "${prober}"`);
    return undefined;
  }
  // A module may have sections of other probers; only its own prober's section counts.
  for (const other of ['http', 'tcp', 'dns', 'icmp', 'grpc', 'unix', 'websocket']) {
    if (other !== prober && module.keys.includes(other)) module.lose(other, `the prober is "${prober}"`);
  }
  const section = module.child(prober);
  const probe = read(section, collection, name);
  if (!probe) {
    module.lose('', 'without the parts listed above there is nothing left to check');
    return undefined;
  }
  const timeoutText = module.text('timeout');
  const timeoutMs = timeoutText === undefined ? undefined : (secondsOf(timeoutText) ?? 0) * 1000;
  if (timeoutMs !== undefined && timeoutMs > probe.mostMs) {
    module.note('timeout', `checks of type ${probe.checkType} wait ${probe.mostMs} milliseconds at most`);
  }
  const family = familyOf(section, probe);
  return {
    checkType: probe.checkType,
    request: { ...probe.request, ...family },
    ...(timeoutMs ? { maxResponseTime: Math.min(timeoutMs, probe.mostMs) } : {}),
  };
}

/** By default the exporter prefers IPv6, and falls back. */
function familyOf(section: Source, { hasFamily }: Probe): Fields {
  const preferred = section.text('preferred_ip_protocol');
  const isFallback = section.flag('ip_protocol_fallback') ?? true;
  if (!hasFamily) {
    if (preferred !== undefined) section.note('preferred_ip_protocol', 'DNS checks have no address family');
    if (!isFallback) section.note('ip_protocol_fallback', 'DNS checks have no address family');
    return {};
  }
  if (preferred !== undefined && preferred !== 'ip4' && preferred !== 'ip6') {
    section.note('preferred_ip_protocol', 'it is ip4 or ip6');
  }
  if (preferred === 'ip6' && !isFallback) return { ipFamily: 'IPv6' };
  if (preferred === 'ip6')
    section.note('preferred_ip_protocol', 'IPv4 is preferred, with IPv6 as the fallback');
  else if (!isFallback) section.note('ip_protocol_fallback', 'where there is no IPv4, IPv6 is used');
  return {};
}

const probers: Readonly<
  Record<string, (section: Source, collection: Collection, name: string) => Probe | undefined>
> = {
  http: readHttp,
  tcp: readTcp,
  dns: readDns,
  icmp: readIcmp,
  grpc: readGrpc,
};

function targetRequest({ checkType, request }: ModuleFields, target: string): Fields | undefined {
  if (checkType === 'API')
    return { ...request, url: /^https?:\/\//i.test(target) ? target : `http://${target}` };
  if (checkType === 'ICMP') return { ...request, hostname: target };
  const [, host = '', port = ''] = /^\[?([^\]]+?)\]?(?::(\d+))?$/.exec(target) ?? [];
  if (checkType === 'DNS') return { ...request, nameServer: host, port: Number(port || 53) };
  if (port === '') return undefined;
  return { ...request, [checkType === 'GRPC' ? 'url' : 'hostname']: host, port: Number(port) };
}

function readTcp(tcp: Source): Probe {
  const tls = tcp.child('tls_config');
  const isTls = tcp.flag('tls') ?? false;
  const steps = readDialogue(tcp, isTls);
  const isTlsSpoken = isTls || steps.some(({ type }) => type === 'START_TLS');
  const assertions: Assertion[] = isTlsSpoken ? tlsVersions(tls) : [];
  const request = {
    ...(steps.length > 0 ? { steps } : {}),
    ...(isTls ? { useSSL: true } : {}),
    ...(isTlsSpoken ? tlsFields(tls) : {}),
    ...(assertions.length > 0 ? { assertions } : {}),
  };
  return { checkType: 'TCP', request, mostMs: 5_000, hasFamily: true };
}

function readDns(dns: Source): Probe | undefined {
  const recordType = (dns.text('query_type') ?? 'ANY').toUpperCase();
  if (!recordTypes.some((one) => one === recordType)) {
    dns.note('query_type', `DNS checks do not support records of type ${recordType}`);
    return undefined;
  }
  const [code = 'NOERROR', ...others] = dns.list('valid_rcodes').map(String);
  if (others.length > 0) {
    dns.note('valid_rcodes', `assertions cannot match "one of several values": only ${code} passes`);
  }
  const answers = dns.child('validate_answer_rrs');
  const assertions: Assertion[] = [
    { source: 'RESPONSE_CODE', comparison: 'EQUALS', target: code },
    ...answerAssertions(answers, 'fail_if_matches_regexp', 'IS_EMPTY'),
    ...answerAssertions(answers, 'fail_if_none_matches_regexp', 'NOT_EMPTY'),
  ];
  const isTls = dns.flag('dns_over_tls') ?? false;
  const transport = (dns.text('transport_protocol') ?? 'udp').toUpperCase();
  const query = dns.text('query_name') ?? '';
  const recordClass = dns.text('query_class');
  const recursionDesired = dns.flag('recursion_desired') ?? true;
  const request = {
    query,
    recordType,
    protocol: isTls ? 'DOT' : transport,
    ...(recordClass === undefined ? {} : { recordClass }),
    ...(recursionDesired ? {} : { recursionDesired }),
    assertions,
  };
  return { checkType: 'DNS', request, mostMs: 5_000, hasFamily: false };
}

function answerAssertions(answers: Source, key: string, comparison: string): Assertion[] {
  return answers.list(key).flatMap((pattern, index): Assertion[] => {
    const regex = wholeMatch(String(pattern));
    if (regex === undefined) {
      answers.note(`${key}.${index}`, 'the regular expression uses syntax that JavaScript does not support');
      return [];
    }
    answers.note(
      `${key}.${index}`,
      'Picket formats responses differently: compare it with a result of the check',
    );
    return [{ source: 'TEXT_ANSWER', comparison, regex }];
  });
}

function readIcmp(icmp: Source): Probe {
  const payload = icmp.number('payload_size');
  const isWhole = icmp.flag('dont_fragment') ?? false;
  const request = {
    pingCount: 1,
    ...(payload === undefined ? {} : { packetSize: Math.max(payload + 8, 16) }),
    ...(isWhole ? { dontFragment: true } : {}),
  };
  if (payload !== undefined && payload < 8)
    icmp.note('payload_size', 'a request has 8 bytes of its own at least');
  return { checkType: 'ICMP', request, mostMs: 300_000, hasFamily: true };
}
