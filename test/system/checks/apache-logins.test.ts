import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { runApi } from '../../../src/checks/api/run.ts';
import { ApiSpec } from '../../../src/checks/api/spec.ts';
import { runContext } from '../../helpers/run-context.ts';
import { startApache, whyNoApache } from '../../helpers/targets/apache.ts';

const skipReason = whyNoApache(['auth_digest'], 'apache2');

describe.skipIf(skipReason)(`logins at Apache ${skipReason ?? ''}`, () => {
  it.each([
    ['ada', 'intranet', 'GET'],
    ['Jäger "1"', 'intra net', 'POST'],
  ])('answers the challenge of mod_auth_digest for %s at %s to a %s', async (user, realm, method) => {
    const password = 'pass wörd';
    const hash = createHash('md5').update(`${user}:${realm}:${password}`).digest('hex');
    await using apache = await startApache({
      modules: ['auth_digest'],
      files: { users: `${user}:${realm}:${hash}\n` },
      directives: (folder) => `
        <Directory ${folder}>
          AuthType Digest
          AuthName "${realm}"
          AuthDigestProvider file
          AuthDigestQop auth
          AuthUserFile ${folder}/users
          Require valid-user
        </Directory>`,
    });
    const run = async (given: string) => {
      const auth = { type: 'DIGEST', username: user, password: given };
      const request = { url: `http://127.0.0.1:${apache.port}/index.html`, method, auth, body: 'a=b' };
      return await runApi(ApiSpec.parse({ request }), runContext());
    };
    const taken = await run(password);
    expect(taken.failure).toBeUndefined();
    expect(taken.detail.response).toMatchObject({ status: 200, body: 'in', login: { state: 'accepted' } });
    const refused = await run('wrong');
    expect(refused.failure).toMatchObject({ code: 'STATUS_UNEXPECTED', details: { loginState: 'refused' } });
  });
});
