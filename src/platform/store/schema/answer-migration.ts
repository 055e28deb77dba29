/** Responses to replay to repeated requests, and the row that tests whether the store accepts writes. */
export const storedAnswers = {
  name: '0075-stored-answers',
  statements: [
    `create table stored_answers (
      key_hash text primary key,
      account_id text not null references accounts (id) on delete cascade,
      process_id text not null, request_hash text not null, created bigint not null,
      sealed_answer text)`,
    `create index stored_answers_by_age on stored_answers (created)`,
    `create index stored_answers_by_account on stored_answers (account_id)`,
    `create table write_tries (id integer primary key, content {blob} not null)`,
  ],
};
