/** Copies of one check, created quickly by SQL statements. */
export interface CopiedChecks {
  readonly engine: 'sqlite' | 'postgres';
  readonly templateId: string;
  readonly count: number;
  /** Executes one statement. */
  run(text: string): Promise<unknown>;
  /** Not scheduled, and spread over the ten offsets of a minute; otherwise like the template. */
  readonly areSpread?: boolean;
}

/** Copies the check; the location of all copies is `lab`. */
export async function copyChecks({ engine, templateId, count, run, areSpread }: CopiedChecks): Promise<void> {
  const isPostgres = engine === 'postgres';
  const hex = isPostgres ? `lpad(to_hex(i), 8, '0')` : `printf('%08x', i)`;
  const id = `${hex} || '-0000-4000-8000-000000000000'`;
  const counted = isPostgres
    ? `with counted (i) as (select generate_series(1, ${count}::bigint))`
    : `with recursive counted (i) as (select 1 union all select i + 1 from counted where i < ${count})`;
  const same = `account_id, name, name_search, check_type, activated, muted, group_id, group_order, created,
    updated, interval_ms, run_parallel, url_search`;
  const offset = 'i % 10 + 1';
  const spread = isPostgres
    ? `jsonb_set(definition::jsonb, '{frequencyOffset}', to_jsonb(${offset}))::json`
    : `json_set(definition, '$.frequencyOffset', ${offset})`;
  await run(`${counted} insert into checks (id, definition, next_slot_at, ${same})
    select ${id}, ${areSpread ? `${spread}, null` : 'definition, next_slot_at'}, ${same}
    from counted, checks where checks.id = '${templateId}'`);
  await run(
    `${counted} insert into check_locations (check_id, position, name) select ${id}, 0, 'lab' from counted`,
  );
  await run('analyze');
}
