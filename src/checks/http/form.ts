import { addressesWords } from '../addresses/fields.ts';
import { assertionsForm, ipFamilyWords, limitsForm } from '../contract/definition/common-form.ts';
import type { FormLayout } from '../contract/definition/form-layout.ts';

/** How forms show an HTTP request. */
export const httpForm: FormLayout = {
  'request.method': { label: 'Method', isFirst: true, width: 'narrow' },
  'request.url': {
    label: 'URL',
    hint: '{{VARIABLES}} are filled in.',
    isFirst: true,
    width: 'wide',
    scheme: 'https',
    names: 'url',
  },
  'request.headers': { label: 'Headers' },
  'request.queryParameters': { label: 'Query parameters' },
  'request.bodyType': {
    label: 'Body',
    words: { NONE: 'none', JSON: 'JSON', FORM: 'form', RAW: 'raw', GRAPHQL: 'GraphQL' },
  },
  'request.body': { label: 'Content of the body', lines: 6, isCode: true },
  'request.auth': {
    label: 'Login',
    hint: 'At the host of the URL. An Authorization header of the check replaces it.',
    words: { '': 'none' },
    pickedBy: 'type',
  },
  'request.auth.type': {
    words: { BASIC: 'Basic', DIGEST: 'Digest', NTLM: 'NTLM', NEGOTIATE: 'Negotiate (Kerberos)' },
  },
  'request.auth.username': {
    label: 'User',
    hint: 'For NTLM also DOMAIN\\user or user@domain. Empty for Negotiate: that uses the Kerberos identity of the agent.',
  },
  'request.auth.password': { label: 'Password' },
  'request.auth.domain': { label: 'Domain', hint: 'For NTLM only. Empty: the domain of the server.' },
  // The older field for the scheme Basic.
  'request.basicAuth': {
    label: 'Basic authentication',
    words: { '': 'none', object: 'user name and password' },
    isOnlyIfSet: true,
  },
  'request.basicAuth.username': { label: 'User' },
  'request.basicAuth.password': { label: 'Password' },
  'request.followRedirects': { label: 'Follow redirects' },
  'request.skipSSL': { label: 'Ignore certificate errors' },
  'request.ipFamily': ipFamilyWords,
  'request.addresses': addressesWords,
  'request.serverName': {
    label: 'TLS server name',
    hint: 'Sent as SNI and compared with the certificate. Empty: the host of the URL.',
  },
  'request.traceparentHosts': {
    label: 'Send a traceparent header to',
    hint: 'Hosts, one per line; * matches any characters. Their traces then begin with the run.',
  },
  ...assertionsForm,
  'request.assertions.*.property': {
    label: 'Property',
    hint: 'A JSON path, a header name, or a property of the connection.',
  },
  ...limitsForm,
};
