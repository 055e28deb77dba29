import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { signedHeaders } from '../../../../src/agent/references/providers/aws/signature.ts';
import { OpenReferences } from '../../../helpers/vaults/open-references.ts';
import {
  type ProviderAnswer,
  type ProviderRequest,
  ProviderServer,
} from '../../../helpers/vaults/provider-server.ts';

const keys = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'aws-secret-access-key' };
const refused = (type: string, text: string): ProviderAnswer => ({
  status: 400,
  body: { __type: `com.amazonaws#${type}`, Message: text },
});

/** Secrets Manager for one pair of keys, with the other services of AWS that give keys. */
class Aws implements AsyncDisposable {
  readonly secrets = new Map([['prod/db', '{"password":"aws-password-1"}']]);
  /** Number of the session whose keys are valid; of those that metadata services give. */
  session = 0;
  server!: ProviderServer;

  static async open(): Promise<Aws> {
    const aws = new Aws();
    aws.server = await ProviderServer.open((request) => aws.#answer(request));
    return aws;
  }

  #answer(request: ProviderRequest): ProviderAnswer {
    const { method, path, headers, body } = request;
    if (path === '/ecs' && headers.authorization === 'container-token') return this.#temporary();
    if (path === '/latest/api/token' && method === 'PUT') return { status: 200, body: 'imds-session' };
    if (path.startsWith('/latest/meta-data/')) {
      if (headers['x-aws-ec2-metadata-token'] !== 'imds-session') return { status: 401 };
      const isRole = path.endsWith('/security-credentials/agent-role');
      return isRole ? this.#temporary() : { status: 200, body: 'agent-role' };
    }
    if (body.includes('AssumeRoleWithWebIdentity')) return this.#assumed(new URLSearchParams(body));
    if (body.includes('Action=AssumeRole&')) return this.#taken(request);
    return this.#secret(request);
  }

  /** A role that other keys take. */
  #taken({ headers, body }: ProviderRequest): ProviderAnswer {
    const form = new URLSearchParams(body);
    const isSigned = /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE\/\d{8}\/eu-central-1\/sts\//.test(
      String(headers.authorization),
    );
    if (isSigned && form.get('ExternalId') === 'from-us') return this.#sessionAsXml('AssumeRole');
    const message = 'not authorized to perform sts:AssumeRole';
    return {
      status: 403,
      body: `<ErrorResponse><Error><Message>${message}</Message></Error></ErrorResponse>`,
    };
  }

  #assumed(form: URLSearchParams): ProviderAnswer {
    if (form.get('WebIdentityToken') !== 'pod&token') {
      const message = 'Couldn&apos;t retrieve verification key';
      return {
        status: 400,
        body: `<ErrorResponse><Error><Message>${message}</Message></Error></ErrorResponse>`,
      };
    }
    return this.#sessionAsXml('AssumeRoleWithWebIdentity');
  }

  #sessionAsXml(action: string): ProviderAnswer {
    const { AccessKeyId, SecretAccessKey, Token, Expiration } = this.#session();
    return {
      status: 200,
      headers: { 'content-type': 'text/xml' },
      body: `<${action}Response><Credentials><AccessKeyId>${AccessKeyId}</AccessKeyId><SecretAccessKey>${SecretAccessKey}</SecretAccessKey><SessionToken>${Token}</SessionToken><Expiration>${Expiration}</Expiration></Credentials></${action}Response>`,
    };
  }

  #temporary(): ProviderAnswer {
    return { status: 200, body: { Code: 'Success', ...this.#session() } };
  }

  #session() {
    this.session += 1;
    return {
      AccessKeyId: `ASIA${this.session}`,
      SecretAccessKey: `temporary-secret-key-${this.session}`,
      Token: `session-token-${this.session}`,
      Expiration: '2026-01-01T06:00:00Z',
    };
  }

  #secret({ method, headers, body }: ProviderRequest): ProviderAnswer {
    const isTemporary = this.session > 0;
    const own = isTemporary
      ? { accessKeyId: `ASIA${this.session}`, secretAccessKey: `temporary-secret-key-${this.session}` }
      : keys;
    const instant = String(headers['x-amz-date']);
    const epochMs = Date.parse(instant.replace(/(....)(..)(..)T(..)(..)(..)Z/, '$1-$2-$3T$4:$5:$6Z'));
    const expected = signedHeaders(
      {
        method: method as 'POST',
        url: new URL(this.server.url),
        headers: {
          'content-type': String(headers['content-type']),
          'x-amz-target': String(headers['x-amz-target']),
        },
        body,
      },
      { region: 'eu-central-1', service: 'secretsmanager', epochMs },
      { ...own, sessionToken: isTemporary ? `session-token-${this.session}` : undefined },
    );
    if (headers.authorization !== expected.authorization) {
      return refused('UnrecognizedClientException', 'The security token included in the request is invalid.');
    }
    const { SecretId: id } = JSON.parse(body) as { SecretId: string };
    if (id === 'forbidden')
      return refused('AccessDeniedException', 'not authorized to perform GetSecretValue');
    if (id === 'binary') return { status: 200, body: { Name: id, SecretBinary: btoa('binary-secret') } };
    const text = this.secrets.get(id.replace(/^arn:.*:secret:/, ''));
    if (text === undefined)
      return refused('ResourceNotFoundException', "Secrets Manager can't find the secret.");
    return { status: 200, body: { Name: id, SecretString: text, VersionStages: ['AWSCURRENT'] } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}

const base = (aws: Aws) => ({
  AWS_REGION: 'eu-central-1',
  AWS_ENDPOINT_URL_SECRETS_MANAGER: aws.server.url,
  AWS_ENDPOINT_URL_STS: aws.server.url,
});
const fixed = { AWS_ACCESS_KEY_ID: keys.accessKeyId, AWS_SECRET_ACCESS_KEY: keys.secretAccessKey };

describe('secrets from AWS', () => {
  it('are texts, bytes and fields, by name and by ARN', async () => {
    await using aws = await Aws.open();
    await using opened = new OpenReferences({
      ...base(aws),
      ...fixed,
      SECRET_FROM_FIELD: 'aws:prod/db#password',
      SECRET_FROM_ARN: 'aws:arn:aws:secretsmanager:eu-central-1:123456789012:secret:prod/db',
      SECRET_FROM_BYTES: 'aws:binary',
    });
    const { values, unavailable } = await opened.current();
    expect(unavailable).toEqual([]);
    expect(values).toEqual({
      SERVICE_SECRET_FIELD: 'aws-password-1',
      SERVICE_SECRET_ARN: '{"password":"aws-password-1"}',
      SERVICE_SECRET_BYTES: 'binary-secret',
    });
  });

  it.each([
    [
      'container',
      (url: string) => ({
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/ecs`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN: 'container-token',
      }),
    ],
    ['metadata service', (url: string) => ({ AWS_EC2_METADATA_SERVICE_ENDPOINT: url })],
  ])(
    'are read with the keys of the %s, which are fetched anew when they end or are refused',
    async (_what, from) => {
      await using aws = await Aws.open();
      await using opened = new OpenReferences({
        ...base(aws),
        ...from(aws.server.url),
        SECRET_FROM_A: 'aws:prod/db#password',
      });
      expect((await opened.current()).values).toEqual({ SERVICE_SECRET_A: 'aws-password-1' });
      expect(opened.masked).toEqual(expect.arrayContaining(['temporary-secret-key-1', 'session-token-1']));
      aws.session = 7;
      aws.secrets.set('prod/db', '{"password":"aws-password-2"}');
      await opened.pass(300_000);
      expect((await opened.current()).values).toEqual({ SERVICE_SECRET_A: 'aws-password-2' });
      expect(aws.session).toBe(8);
      await opened.pass(6 * 3_600_000);
      expect(aws.session).toBe(9);
    },
  );

  it('are read with a role that the service account of a pod takes', async () => {
    await using aws = await Aws.open();
    const folder = await mkdtemp(join(tmpdir(), 'aws-'));
    await writeFile(join(folder, 'token'), 'pod&token');
    const environment = {
      ...base(aws),
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/agent',
      AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'token'),
      SECRET_FROM_A: 'aws:prod/db#password',
    };
    await using opened = new OpenReferences(environment);
    expect((await opened.current()).values).toEqual({ SERVICE_SECRET_A: 'aws-password-1' });
    await writeFile(join(folder, 'token'), 'another');
    await using refusedThere = new OpenReferences(environment);
    expect((await refusedThere.current()).unavailable[0]?.problem).toMatchObject({
      status: 400,
      message: expect.stringContaining("Couldn't retrieve verification key"),
    });
    await rm(folder, { recursive: true });
  });

  describe('with a profile', () => {
    const files = async (credentials: string | null, config: string | null) => {
      const folder = await mkdtemp(join(tmpdir(), 'aws-'));
      if (credentials !== null) await writeFile(join(folder, 'credentials'), credentials);
      if (config !== null) await writeFile(join(folder, 'config'), config);
      return {
        AWS_SHARED_CREDENTIALS_FILE: join(folder, 'credentials'),
        AWS_CONFIG_FILE: join(folder, 'config'),
        SECRET_FROM_A: 'aws:prod/db#password',
        [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
      };
    };
    const fetched = async (
      aws: Aws,
      written: readonly [credentials: string | null, config: string | null],
      profile?: string,
    ) => {
      await using environment = await files(...written);
      const { [Symbol.asyncDispose]: _remove, ...variables } = environment;
      await using opened = new OpenReferences({
        ...base(aws),
        ...variables,
        ...(profile === undefined ? {} : { AWS_PROFILE: profile }),
      });
      return { ...(await opened.current()), masked: opened.masked };
    };
    const own = `aws_access_key_id = ${keys.accessKeyId}\naws_secret_access_key=${keys.secretAccessKey} # of the team`;

    it('are read with its keys', async () => {
      await using aws = await Aws.open();
      const { values, masked } = await fetched(aws, [`# ours\n[other]\n[default]\r\n${own}\n`, null]);
      expect(values).toEqual({ SERVICE_SECRET_A: 'aws-password-1' });
      expect(masked).toContain(keys.secretAccessKey);
      const named = await fetched(
        aws,
        [null, `[profile ops]\nregion = x\ns3 =\n  aws_access_key_id = no\n${own}`],
        'ops',
      );
      expect(named.values).toEqual({ SERVICE_SECRET_A: 'aws-password-1' });
    });

    it('are read with the role that it takes', async () => {
      await using aws = await Aws.open();
      const role = '[profile agent]\nrole_arn = arn:aws:iam::123456789012:role/agent\nsource_profile = keys';
      const credentials = `[keys]\n${own}`;
      const taken = await fetched(aws, [credentials, `${role}\nexternal_id = from-us`], 'agent');
      expect(taken.values).toEqual({ SERVICE_SECRET_A: 'aws-password-1' });
      expect(taken.masked).toContain('temporary-secret-key-1');
      const denied = await fetched(aws, [credentials, role], 'agent');
      expect(denied.unavailable[0]?.problem).toMatchObject({ reason: 'DENIED', status: 403 });
    });

    it.each([
      [[null, null], undefined, /there is neither .*credentials nor .*config$/],
      [['[default]', null], 'ops', /have no profile ops$/],
      [
        ['[default]\naws_access_key_id = A', null],
        undefined,
        /has no aws_access_key_id with an aws_secret_access_key/,
      ],
      [
        [null, '[profile a]\nsso_session = corp'],
        'a',
        /the profile a logs in by sso_session, which the agent does not support/,
      ],
      [[null, '[profile a]\nrole_arn = r'], 'a', /a role_arn without a source_profile/],
      [
        [
          null,
          '[profile a]\nrole_arn = r\nsource_profile = b\n[profile b]\nrole_arn = r\nsource_profile = a',
        ],
        'a',
        /profile a has no aws/,
      ],
    ] as const)('say what is missing: %j', async (written, profile, message) => {
      await using aws = await Aws.open();
      const { unavailable } = await fetched(aws, written, profile);
      expect(unavailable[0]?.problem.message).toMatch(message);
    });
  });

  it.each([
    ['none', { reason: 'NOT_FOUND', status: 400 }],
    ['forbidden', { reason: 'DENIED', status: 400 }],
  ])('that are not there (%s) have a reason', async (name, problem) => {
    await using aws = await Aws.open();
    await using opened = new OpenReferences({ ...base(aws), ...fixed, SECRET_FROM_A: `aws:${name}` });
    expect((await opened.current()).unavailable).toMatchObject([{ provider: 'aws', problem }]);
  });

  it.each([
    [{ SECRET_FROM_A: 'aws:prod/db' }, 'AWS_REGION is required'],
    [{ SECRET_FROM_A: 'aws:prod db', AWS_REGION: 'eu-central-1' }, 'SECRET_FROM_A: must be'],
    [{ SECRET_FROM_A: 'aws:x', AWS_REGION: 'evil.example.com/' }, 'AWS_REGION: must be a region'],
    [
      {
        SECRET_FROM_A: 'aws:x',
        AWS_REGION: 'eu-central-1',
        AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://a.example',
      },
      'must be https, or an address of the host itself',
    ],
  ])('need complete settings: %j', (environment, problem) => {
    expect(() => new OpenReferences(environment)).toThrow(problem);
  });
});
