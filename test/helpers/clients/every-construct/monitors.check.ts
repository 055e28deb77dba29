import {
  ApiCheck,
  AssertionBuilder,
  DnsAssertionBuilder,
  DnsMonitor,
  Frequency,
  GrpcAssertionBuilder,
  GrpcMonitor,
  HeartbeatMonitor,
  IcmpAssertionBuilder,
  IcmpMonitor,
  RetryStrategyBuilder,
  SslAssertionBuilder,
  SslMonitor,
  TcpAssertionBuilder,
  TcpMonitor,
  TracerouteAssertionBuilder,
  TracerouteMonitor,
  UrlAssertionBuilder,
  UrlMonitor,
} from 'checkly/constructs';
import { common, group } from './common.ts';

/** Only these two distinguish such errors from others. */
const retryStrategy = RetryStrategyBuilder.fixedStrategy({ maxRetries: 4, onlyOn: 'NETWORK_ERROR' });
const times = { degradedResponseTime: 1500, maxResponseTime: 2500, frequency: Frequency.EVERY_5M };

new ApiCheck('api', {
  ...common,
  ...times,
  name: 'API',
  retryStrategy,
  group,
  shouldFail: true,
  runtimeId: '2025.04',
  environmentVariables: [
    { key: 'PLAIN', value: 'plain' },
    { key: 'SECRET', value: 'api-secret', secret: true },
  ],
  setupScript: { content: 'request.headers["x-set-up"] = "1";' },
  tearDownScript: { content: 'console.log(response.statusCode);' },
  request: {
    method: 'PATCH',
    url: 'https://shop.example.com/orders',
    ipFamily: 'IPv6',
    followRedirects: false,
    skipSSL: true,
    headers: [{ key: 'accept', value: 'application/json' }],
    queryParameters: [{ key: 'limit', value: '1' }],
    body: '{"ping": true}',
    bodyType: 'JSON',
    basicAuth: { username: 'shop', password: 'api-basic' },
    assertions: [
      AssertionBuilder.statusCode().equals(200),
      AssertionBuilder.jsonBody('$.ok').equals(true),
      AssertionBuilder.headers('content-type').contains('json'),
      AssertionBuilder.textBody('order (\\d+)').notEmpty(),
      AssertionBuilder.responseTime().lessThan(2000),
    ],
  },
});

new UrlMonitor('url', {
  ...common,
  ...times,
  name: 'URL',
  retryStrategy,
  group,
  request: {
    url: 'https://shop.example.com/',
    ipFamily: 'IPv6',
    followRedirects: false,
    skipSSL: true,
    assertions: [UrlAssertionBuilder.statusCode().lessThan(400)],
  },
});

new TcpMonitor('tcp', {
  ...common,
  ...times,
  name: 'TCP',
  frequency: Frequency.EVERY_10S,
  group,
  request: {
    hostname: 'mail.shop.example.com',
    port: 25,
    ipFamily: 'IPv6',
    data: 'EHLO shop\r\n',
    assertions: [
      TcpAssertionBuilder.responseData().contains('250'),
      TcpAssertionBuilder.responseTime().lessThan(900),
    ],
  },
});

new DnsMonitor('dns', {
  ...common,
  ...times,
  name: 'DNS',
  group,
  degradedResponseTime: 300,
  maxResponseTime: 900,
  request: {
    recordType: 'AAAA',
    query: 'shop.example.com',
    nameServer: '192.0.2.53',
    port: 5353,
    protocol: 'TCP',
    assertions: [
      DnsAssertionBuilder.responseCode().equals('NOERROR'),
      DnsAssertionBuilder.responseTime().lessThan(200),
    ],
  },
});

new SslMonitor('ssl', {
  ...common,
  name: 'SSL',
  frequency: Frequency.EVERY_1H,
  group,
  degradedResponseTime: 700,
  maxResponseTime: 900,
  request: {
    hostname: 'mail.shop.example.com',
    port: 465,
    ipFamily: 'IPv6',
    sslConfig: {
      serverName: 'shop.example.com',
      skipChainValidation: true,
      handshakeTimeout: 4000,
      alertDaysBeforeExpiry: 21,
      clientCertificateMode: 'auto',
      securityBaseline: {
        enabled: true,
        minTLSVersion: { value: 'TLS1.3', severity: 'degrade' },
        minKeySizeBits: { value: 3072, severity: 'degrade' },
        weakSignatureAlgorithm: { severity: 'degrade' },
        weakCipherSuite: { severity: 'degrade' },
        knownBadCA: { severity: 'degrade' },
        recommendedTLSVersion: { value: 'TLS1.2', severity: 'ignore' },
        recommendedKeySizeBits: { value: 2048, severity: 'ignore' },
        ocspMustStapleRespected: { severity: 'fail' },
        sctPresent: { severity: 'degrade' },
      },
    },
    assertions: [
      SslAssertionBuilder.certificate('daysUntilExpiry').greaterThan(30),
      SslAssertionBuilder.connection('tlsVersion').greaterThan('TLS1.2'),
      SslAssertionBuilder.responseTime().lessThan(800),
    ],
  },
});

new GrpcMonitor('grpc', {
  ...common,
  name: 'gRPC',
  frequency: Frequency.EVERY_1H,
  group,
  degradedResponseTime: 700,
  maxResponseTime: 900,
  request: {
    url: 'grpc.shop.example.com',
    port: 8443,
    ipFamily: 'IPv6',
    skipSSL: true,
    timeout: 20,
    grpcConfig: {
      mode: 'BEHAVIOR',
      tls: true,
      metadata: [{ key: 'x-tenant', value: 'blue' }],
      serviceDefinition: 'PROTO_FILE',
      method: '/shop.v1.Orders/Get',
      protoContent:
        'syntax = "proto3"; package shop.v1; service Orders { rpc Get(Id) returns (Id); } message Id { string id = 1; }',
      message: '{"id": "one"}',
    },
    assertions: [
      GrpcAssertionBuilder.statusCode().equals(0),
      GrpcAssertionBuilder.responseMessage('$.id').equals('one'),
      GrpcAssertionBuilder.textBody().contains('one'),
      GrpcAssertionBuilder.responseMetadata('content-type').contains('grpc'),
      GrpcAssertionBuilder.responseTime().lessThan(800),
    ],
  },
});

new GrpcMonitor('grpc-health', {
  ...common,
  name: 'gRPC health',
  frequency: Frequency.EVERY_1H,
  request: {
    url: 'grpc.shop.example.com',
    port: 8080,
    grpcConfig: { mode: 'HEALTH', tls: false, service: 'shop.v1.Orders' },
    assertions: [GrpcAssertionBuilder.healthCheckStatus().equals('SERVING')],
  },
});

new IcmpMonitor('icmp', {
  ...common,
  name: 'ICMP',
  frequency: Frequency.EVERY_2M,
  group,
  degradedPacketLossThreshold: 5,
  maxPacketLossThreshold: 30,
  request: {
    hostname: 'shop.example.com',
    ipFamily: 'IPv6',
    pingCount: 7,
    assertions: [IcmpAssertionBuilder.latency('avg').lessThan(80)],
  },
});

new TracerouteMonitor('traceroute', {
  ...common,
  name: 'Traceroute',
  frequency: Frequency.EVERY_5M,
  group,
  degradedResponseTime: 400,
  maxResponseTime: 900,
  request: {
    url: 'shop.example.com',
    protocol: 'UDP',
    port: 33_500,
    ipFamily: 'IPv6',
    maxHops: 20,
    maxUnknownHops: 5,
    ptrLookup: false,
    timeout: 8,
    assertions: [
      TracerouteAssertionBuilder.responseTime('max').lessThan(300),
      TracerouteAssertionBuilder.hopCount().lessThan(12),
      TracerouteAssertionBuilder.packetLoss().lessThan(40),
    ],
  },
});

new TracerouteMonitor('traceroute-as-it-comes', {
  name: 'Traceroute as it comes',
  request: { url: 'shop.example.com' },
});

const { retryStrategy: _none, ...ofHeartbeats } = common;
new HeartbeatMonitor('heartbeat', {
  ...ofHeartbeats,
  name: 'Heartbeat',
  group,
  period: 2,
  periodUnit: 'hours',
  grace: 10,
  graceUnit: 'minutes',
});

// Its password is shown, as it only refers to a variable.
new ApiCheck('api-by-variable', {
  name: 'API by variable',
  request: {
    method: 'GET',
    url: 'https://shop.example.com/orders',
    basicAuth: { username: 'shop', password: '{{SHOP_PASSWORD}}' },
  },
});
