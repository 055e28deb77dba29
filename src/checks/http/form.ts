import { addressesWords } from '../addresses/fields.ts';
import { assertionsForm, ipFamilyWords, limitsForm } from '../contract/definition/common-form.ts';
import type { FormLayout } from '../contract/definition/form-layout.ts';

/** How forms show a request over HTTP. */
export const httpForm: FormLayout = {
  'request.method': { label: 'Method' },
  'request.url': { label: 'URL', hint: 'Starts with http:// or https://; {{VARIABLES}} are filled in.' },
  'request.headers': { label: 'Headers' },
  'request.queryParameters': { label: 'Query parameters' },
  'request.bodyType': {
    label: 'Body',
    words: { NONE: 'none', JSON: 'JSON', FORM: 'form', RAW: 'as it is', GRAPHQL: 'GraphQL' },
  },
  'request.body': { label: 'Content of the body', lines: 6, isCode: true },
  'request.basicAuth': { label: 'Basic authentication', words: { '': 'none', object: 'user and password' } },
  'request.basicAuth.username': { label: 'User' },
  'request.basicAuth.password': { label: 'Password' },
  'request.followRedirects': { label: 'Follow redirects' },
  'request.skipSSL': { label: 'Take any certificate' },
  'request.ipFamily': ipFamilyWords,
  'request.addresses': addressesWords,
  'request.serverName': {
    label: 'Name for TLS',
    hint: 'Sent as SNI, and the certificate has to be for it; empty: the host of the URL.',
  },
  'request.traceparentHosts': {
    label: 'Hosts that get a traceparent header',
    hint: 'One a line; * stands for any characters. A trace of theirs then begins with the run.',
  },
  ...assertionsForm,
  'request.assertions.*.property': {
    label: 'Property',
    hint: 'A JSON path, the name of a header, or what of the connection.',
  },
  ...limitsForm,
};
