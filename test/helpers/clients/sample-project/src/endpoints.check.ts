import {
  ApiCheck,
  AssertionBuilder,
  DnsMonitor,
  HeartbeatMonitor,
  SslAssertionBuilder,
  SslMonitor,
  TcpMonitor,
  UrlAssertionBuilder,
  UrlMonitor,
} from 'checkly/constructs';
import { channels } from './alerting.ts';
import { shop } from './shop-group.check.ts';

new ApiCheck('orders-api', {
  name: 'Orders API',
  group: shop,
  degradedResponseTime: 2000,
  maxResponseTime: 5000,
  request: {
    method: 'POST',
    url: 'https://shop.example.com/orders',
    headers: [{ key: 'accept', value: 'application/json' }],
    queryParameters: [{ key: 'limit', value: '1' }],
    body: '{"ping": true}',
    bodyType: 'JSON',
    assertions: [AssertionBuilder.statusCode().equals(200), AssertionBuilder.jsonBody('$.ok').equals(true)],
  },
});

new UrlMonitor('home-page', {
  name: 'Home page',
  alertChannels: channels,
  request: {
    url: 'https://shop.example.com/',
    followRedirects: true,
    assertions: [UrlAssertionBuilder.statusCode().lessThan(400)],
  },
});

new TcpMonitor('mail-server', {
  name: 'Mail server',
  request: { hostname: 'mail.shop.example.com', port: 25 },
});

new SslMonitor('mail-certificate', {
  name: 'Certificate of the mail server',
  request: {
    hostname: 'mail.shop.example.com',
    port: 465,
    sslConfig: { alertDaysBeforeExpiry: 30, securityBaseline: { minTLSVersion: { value: 'TLS1.3' } } },
    assertions: [SslAssertionBuilder.connection('tlsVersion').greaterThan('TLS1.2')],
  },
});

new DnsMonitor('name', {
  name: 'Name of the shop',
  request: { recordType: 'A', query: 'shop.example.com' },
});

new HeartbeatMonitor('backup', {
  name: 'Nightly backup',
  period: 1,
  periodUnit: 'days',
  grace: 2,
  graceUnit: 'hours',
});
