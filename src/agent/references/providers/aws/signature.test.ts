import { expect, it } from 'vitest';
import { signedHeaders } from './signature.ts';

// The test suite that AWS publishes for version 4 of its signature: get-vanilla and post-vanilla.
it.each([
  ['GET', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  ['POST', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
] as const)('signs %s as AWS does', (method, signature) => {
  const signed = signedHeaders(
    { method, url: new URL('https://example.amazonaws.com/'), headers: {}, body: '' },
    { region: 'us-east-1', service: 'service', epochMs: Date.UTC(2015, 7, 30, 12, 36, 0) },
    {
      accessKeyId: 'AKIDEXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
      sessionToken: undefined,
    },
  );
  expect(signed.authorization).toBe(
    `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
  );
});
