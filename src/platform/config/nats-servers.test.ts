import { describe, expect, it } from 'vitest';
import { isCredentials, natsServers } from './nats-servers.ts';

describe('NATS_URL', () => {
  it('names servers, and one user or token for all of them', () => {
    expect(natsServers('nats://nats')).toEqual({ hosts: ['nats:4222'], hasTls: false });
    expect(natsServers('nats://ann:p%40ss@a:4333, nats://b')).toEqual({
      hosts: ['a:4333', 'b:4222'],
      hasTls: false,
      user: 'ann',
      password: 'p@ss',
    });
    expect(natsServers('tls://token%@[::1]:4333/,tls://b')).toEqual({
      hosts: ['[::1]:4333', 'b:4222'],
      hasTls: true,
      token: 'token%',
    });
  });

  it.each([
    ['nats', 'must be nats://'],
    ['http://nats', 'must be nats://'],
    ['nats://', 'must be nats://'],
    ['nats://a,', 'must be nats://'],
    ['nats://a:99999', 'must be nats://'],
    ['nats://a/subject', 'must have no path'],
    ['nats://a?tls=true', 'must have no path'],
    ['nats://a,tls://b', 'must not mix'],
    ['nats://ann:secret@a,nats://bob:secret@b', 'must name one user'],
  ])('cannot be %s', (text, problem) => {
    const read = natsServers(text);
    expect(read.problem).toContain(problem);
    expect(read.problem).not.toContain('secret');
  });
});

it('recognizes a credentials file by its two parts', () => {
  const part = (name: string, text: string) => `-----BEGIN ${name}-----\n${text}\n------END ${name}------\n`;
  const jwt = part('NATS USER JWT', 'eyJ0eXAiOiJKV1QifQ.e30.x');
  const seed = part('USER NKEY SEED', 'SUAM');
  expect(isCredentials(`${jwt}\n${seed}`)).toBe(true);
  for (const text of ['', jwt, seed, 'ann:secret']) expect(isCredentials(text)).toBe(false);
});
