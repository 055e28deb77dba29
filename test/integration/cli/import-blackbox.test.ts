import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { yamlText } from '../../../src/cli/project/files.ts';
import { problemsOf } from '../../../src/cli/project/validate.ts';
import { importBlackbox } from '../../../src/extras/importers/blackbox/blackbox.ts';
import { silentFields } from '../../helpers/cli/sources.ts';

// Modules with every setting in the exporter's documentation.
const tls = {
  insecure_skip_verify: true,
  server_name: 'shop.example.com',
  ca_file: 'ca.crt',
  cert_file: 'a.crt',
  key_file: 'a.key',
  min_version: 'TLS12',
  max_version: 'TLS13',
};
const family = { preferred_ip_protocol: 'ip6', ip_protocol_fallback: false, source_ip_address: '192.0.2.1' };
const modules: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  http_2xx: { prober: 'http' },
  http_all: {
    ...{ prober: 'http', timeout: '40s' },
    http: {
      ...{
        valid_status_codes: [200, 204, 401],
        valid_http_versions: ['HTTP/1.1'],
        method: 'post',
        body: 'a=b',
        body_file: 'b.txt',
      },
      ...{
        headers: { Host: 'shop.example.com', 'X-Token': 'hidden' },
        no_follow_redirects: true,
        fail_if_not_ssl: true,
      },
      ...{
        fail_if_body_matches_regexp: ['(?i)error', '[[:alpha:]]'],
        fail_if_body_not_matches_regexp: ['^ok'],
      },
      fail_if_header_matches: [{ header: 'Server', regexp: 'old', allow_missing: true }],
      fail_if_header_not_matches: [
        { header: 'Via', regexp: 'a' },
        { header: 'Age', regexp: '0', allow_missing: true },
      ],
      fail_if_body_json_matches_cel: 'body.a == 1',
      basic_auth: { username: 'u', password: 'hidden', password_file: 'x' },
      ...{
        proxy_url: 'http://proxy:80',
        skip_resolve_phase_with_proxy: true,
        compression: 'gzip',
        body_size_limit: '1MB',
      },
      ...{ tls_config: tls, ...family, enable_http2: false, enable_http3: true, oauth2: { client_id: 'c' } },
    },
  },
  http_token: {
    prober: 'http',
    http: {
      authorization: { type: 'Token', credentials: 'hidden' },
      valid_status_codes: [200, 500],
      valid_http_versions: ['HTTP/1.1', 'HTTP/2.0'],
    },
  },
  http_plain: {
    prober: 'http',
    timeout: '5s',
    http: {
      fail_if_ssl: true,
      preferred_ip_protocol: 'ip4',
      ip_protocol_fallback: false,
      bearer_token: 'hidden',
    },
    tcp: { tls: true },
  },
  tcp_connect: { prober: 'tcp', timeout: '3s' },
  tcp_tls: { prober: 'tcp', tcp: { tls: true, tls_config: tls, ...family } },
  irc: {
    prober: 'tcp',
    tcp: {
      query_response: [
        { send: 'NICK prober' },
        { expect: 'PING :([^ ]+)', send: 'PONG ${1}' },
        { expect_bytes: 'x' },
      ],
    },
  },
  smtp_starttls: {
    prober: 'tcp',
    timeout: '20s',
    tcp: {
      query_response: [
        { expect: '^220 ([^ ]+) ESMTP (.+)$' },
        { send: 'EHLO prober\r' },
        { expect: '^250(-| )STARTTLS' },
        { send: 'STARTTLS\r' },
        { expect: '^220' },
        { starttls: true },
        { send: 'EHLO prober\r' },
      ],
      tls_config: tls,
      ...family,
    },
  },
  pop3_starttls: {
    prober: 'tcp',
    tcp: {
      query_response: [{ expect: '^\\+OK' }, { send: 'STLS' }, { expect: '^\\+OK' }, { starttls: true }],
    },
  },
  imap_starttls: {
    prober: 'tcp',
    tcp: { query_response: [{ expect: 'OK' }, { send: '. STARTTLS' }, { expect: 'OK' }, { starttls: true }] },
  },
  own_starttls: { prober: 'tcp', tcp: { query_response: [{ send: 'GO SECURE' }, { starttls: true }] } },
  dns_udp: {
    prober: 'dns',
    dns: {
      ...{
        query_name: 'example.com',
        query_type: 'SOA',
        transport_protocol: 'tcp',
        recursion_desired: false,
        query_class: 'IN',
        ...family,
      },
      ...{ valid_rcodes: ['NOERROR', 'NXDOMAIN'], validate_authority_rrs: { fail_if_matches_regexp: ['a'] } },
      validate_answer_rrs: {
        fail_if_matches_regexp: ['127'],
        fail_if_none_matches_regexp: ['ns'],
        fail_if_all_match_regexp: ['x'],
      },
    },
  },
  dns_tls: { prober: 'dns', dns: { query_name: 'example.com', query_type: 'A', dns_over_tls: true } },
  icmp: {
    prober: 'icmp',
    icmp: { payload_size: 100, dont_fragment: true, ttl: 5, preferred_ip_protocol: 'ip6' },
  },
  grpc: {
    prober: 'grpc',
    grpc: {
      service: 's',
      tls: true,
      tls_config: { insecure_skip_verify: true },
      metadata: { 'x-token': ['hidden'] },
    },
  },
};
const names = Object.keys(modules);
const many = Object.fromEntries(
  Array.from({ length: 50 }, (_, index) => {
    const name = names[index % names.length] ?? '';
    return [index < names.length ? name : `${name}_${index}`, modules[name]] as const;
  }),
);
const targetOf = (name: string) =>
  ({
    tcp: 'example.com:25',
    grp: 'example.com:50051',
    irc: 'example.com:6667',
    smt: 'mail.example.com:25',
    pop: 'example.com:110',
    ima: 'example.com:143',
    own: 'example.com:9',
    dns: '9.9.9.9',
    icm: 'example.com',
  })[name.slice(0, 3)] ?? 'https://example.com/';
const scrapeConfigs = (all: readonly string[]) => ({
  global: { scrape_interval: '30s', external_labels: { a: 'b' } },
  scrape_configs: [
    ...all.map((name, index) => ({
      job_name: name,
      metrics_path: '/probe',
      params: { module: [name] },
      ...(index % 3 === 0 ? { scrape_interval: '90s' } : {}),
      static_configs: [{ targets: [targetOf(name)], labels: { team: `t${index}` } }],
      relabel_configs: [{ target_label: '__address__' }],
    })),
    { job_name: 'node', static_configs: [{ targets: ['localhost:9100'] }] },
  ],
  rule_files: ['a.yml'],
});
const options = { location: 'main' };

it('moves 50 modules with their targets, and every file is valid', () => {
  const all = Object.keys(many);
  const source = { modules: parse(yamlText({ modules: many })) as unknown, targets: scrapeConfigs(all) };
  const { definitions, values } = importBlackbox(source, options);
  expect(problemsOf({ logicalId: 'p', name: 'p', definitions }, values)).toEqual([]);
  expect(definitions).toHaveLength(50);
  expect(yamlText(definitions.map(({ fields }) => fields))).not.toContain('hidden');
  const [plain, whole] = ['https-example-com-http-2xx', 'https-example-com-http-all'].map(
    (name) => definitions.find(({ logicalId }) => logicalId === name)?.fields,
  );
  expect(definitions.find(({ fields }) => fields['checkType'] === 'GRPC')?.fields).toMatchObject({
    request: {
      ...{ url: 'example.com', port: 50_051, skipSSL: true },
      grpcConfig: { mode: 'HEALTH', tls: true, service: 's', metadata: [{ key: 'x-token', locked: true }] },
    },
  });
  const dialogues = definitions.filter(({ fields }) => (fields['request'] as { steps?: unknown }).steps);
  expect(dialogues[0]?.fields).toMatchObject({
    request: {
      steps: [
        { type: 'SEND', text: 'NICK prober\n' },
        { type: 'EXPECT', regex: '(?<step1_0>PING :(?<step1_1>[^ ]+))' },
        { type: 'SEND', text: 'PONG {{step1_1}}\n' },
        { type: 'EXPECT', text: 'x' },
      ],
    },
  });
  expect(dialogues[1]?.fields).toMatchObject({
    ...{ checkType: 'TCP', maxResponseTime: 5000 },
    request: {
      ...{ hostname: 'mail.example.com', port: 25, serverName: 'shop.example.com', skipSSL: true },
      steps: [
        { type: 'EXPECT', regex: '^220 ([^ ]+) ESMTP (.+)$' },
        { type: 'SEND', text: 'EHLO prober\r\n' },
        { type: 'EXPECT', regex: '^250(-| )STARTTLS' },
        { type: 'SEND', text: 'STARTTLS\r\n' },
        { type: 'EXPECT', regex: '^220' },
        { type: 'START_TLS' },
        { type: 'SEND', text: 'EHLO prober\r\n' },
      ],
    },
  });
  expect(plain).toMatchObject({
    ...{ checkType: 'API', frequency: 1, tags: ['job:http_2xx', 'team:t0'], privateLocations: ['main'] },
    request: {
      assertions: [
        { comparison: 'GREATER_THAN', target: '199' },
        { comparison: 'LESS_THAN', target: '300' },
      ],
    },
  });
  expect(whole).toMatchObject({
    maxResponseTime: 30_000,
    request: {
      ...{
        method: 'POST',
        followRedirects: false,
        skipSSL: true,
        serverName: 'shop.example.com',
        ipFamily: 'IPv6',
      },
      assertions: expect.arrayContaining([
        { source: 'TEXT_BODY', comparison: 'IS_EMPTY', regex: '((?i:error))' },
        { source: 'CONNECTION', property: 'tlsVersion', comparison: 'GREATER_THAN', target: '1.15' },
      ]),
    },
  });
});

it('reads files of file-based discovery, and reports missing ones', () => {
  const file = [
    { targets: ['example.com', 'http://example.com/b'], labels: { module: 'http_2xx', env: 'x' } },
    { targets: ['a'] },
  ];
  const { definitions, losses } = importBlackbox({ modules: { modules }, targets: file }, options);
  expect(definitions.map(({ fields }) => fields['request'])).toMatchObject([
    { url: 'http://example.com' },
    { url: 'http://example.com/b' },
  ]);
  expect(losses.map(({ field }) => field)).toEqual(
    expect.arrayContaining(['targets.1.labels', 'modules.icmp']),
  );
});

it('loses nothing without a word: every field is carried over or on the list', () => {
  const source = { modules: { modules }, targets: scrapeConfigs(names) };
  // Paths in the list begin at their own file.
  const read = (value: unknown) => {
    const imported = importBlackbox(value as typeof source, options);
    const losses = imported.losses.map((loss) => ({
      ...loss,
      field: loss.field.startsWith('targets') ? loss.field : `modules.${loss.field}`,
    }));
    return { ...imported, losses };
  };
  // The relabelling that passes a target from Prometheus to the exporter is always the same.
  const plumbing = /\.(metrics_path|relabel_configs\..*)$/;
  expect(silentFields(source, read).filter((field) => !plumbing.test(field))).toEqual([]);
});
