import { describe, expect, it } from 'vitest';
import { pascalName } from '../../../src/checks/contract/definition/definition.ts';
import { checkTypes } from '../../../src/checks/index.ts';
import { buildOpenApi } from '../../../src/platform/http/openapi.ts';
import { allRoutes } from '../../../src/server/features.ts';
import { openHarness } from '../../helpers/service/service.ts';

/** Built once for all tests: it takes half a second. */
const built = await buildOpenApi(allRoutes);

describe('the OpenAPI document', () => {
  it('has every route, resolves every reference and is the same every time', async () => {
    const document = built as {
      paths: Record<string, Record<string, { operationId: string }>>;
      components: { schemas: Record<string, { required?: string[]; properties: object }> };
    };
    for (const route of allRoutes) {
      expect(document.paths[route.path]?.[route.method.toLowerCase()]?.operationId).toBe(route.operationId);
    }
    const text = JSON.stringify(document);
    const names = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(20);
    for (const name of names) expect(document.components.schemas).toHaveProperty(String(name));
    expect(text).not.toContain('$defs');
    expect(JSON.stringify(await buildOpenApi(allRoutes))).toBe(text);
    const patch = document.components.schemas.UrlMonitorPatch as { description?: string } | undefined;
    expect(patch?.description).toContain('alertSettings');
  });

  it('names the fields of every type if checks of any type are written, and the details of results', () => {
    // biome-ignore lint/suspicious/noExplicitAny: a document of many shapes
    const document = built as any;
    const { schemas } = document.components;
    const nameOf = ({ $ref }: { $ref: string }) => $ref.split('/').at(-1) ?? '';
    const body = document.paths['/v1/checks'].post.requestBody.content['application/json'].schema;
    const input = schemas[nameOf(body)];
    expect(input.discriminator).toEqual({ propertyName: 'checkType' });
    const branches = input.oneOf.map((branch: { $ref: string }) => schemas[nameOf(branch)]);
    expect(
      branches.map(({ properties }: { properties: { checkType: object } }) => properties.checkType),
    ).toEqual(checkTypes.map(({ name }) => ({ type: 'string', const: name })));
    for (const branch of branches)
      expect(branch.required).toEqual(expect.arrayContaining(['name', 'checkType']));
    const { discriminator, oneOf: answers } = schemas.Check;
    expect(discriminator).toEqual({ propertyName: 'checkType' });
    expect(answers.map(nameOf)).toEqual(checkTypes.map(pascalName));
    expect(schemas.UrlMonitor.properties.request).toBeDefined();
    const list = document.paths['/v1/checks'].get.responses['200'].content['application/json'].schema;
    expect(list.items).toEqual({ $ref: '#/components/schemas/Check' });
    expect(branches[0].properties.frequencyOffset.description).toMatch(/floor\(frequency \* 10\).*ceil/);
    const detail = JSON.stringify(schemas.CheckResult.properties.apiCheckResult);
    expect(detail).toContain('HttpCheckDetail');
    expect(schemas.HttpCheckDetail.properties).toHaveProperty('response');
    const strategy = schemas.RetryStrategy.properties;
    expect([strategy.onlyOn.type, schemas.RetryStrategyWrite.properties.onlyOn.anyOf.length]).toEqual([
      'array',
      2,
    ]);
  });

  it('names operations and schemas in one form, without runs of capitals', () => {
    const names = [
      ...allRoutes.map(({ operationId }) => operationId),
      ...Object.keys((built as { components: { schemas: object } }).components.schemas),
    ];
    expect(names.filter((name) => /[A-Z]{2}|[^A-Za-z0-9]/.test(name))).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(['createUrlMonitor', 'updateDnsMonitor', 'UrlMonitor']));
  });

  it('contains the URL of the service', async () => {
    const harness = await openHarness();
    try {
      const { body } = await harness.call('GET', '/v1/openapi.json', undefined, { key: null });
      expect(body.servers).toEqual([{ url: 'http://localhost:80' }]);
    } finally {
      await harness.close();
    }
  });

  it('requires no field of a change', () => {
    const document = built as {
      components: { schemas: Record<string, { required?: string[]; properties: object }> };
    };
    const patch = document.components.schemas.UrlMonitorPatch;
    expect(patch?.required).toBeUndefined();
    expect(Object.keys(patch?.properties ?? {})).toContain('retryStrategy');
  });
});
