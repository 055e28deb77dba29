import type { ToolSpec } from './spec.ts';

const ofCheck = { id: 'checkId' };
const check = (what: string) => ({
  name: 'check',
  description: `${what}; describe_check_type lists them`,
});

/**
 * Tools that run checks or change something: offered if the client requests them and the key has the permission. No
 * tool deletes data that cannot be recreated.
 */
export const writingTools: readonly ToolSpec[] = [
  {
    name: 'run_checks',
    title: 'Run checks now',
    description:
      'Runs checks now: by id, or by tags. Returns sessions; wait_for_check_session returns their outcome.',
    operations: ['triggerCheckSessions'],
  },
  {
    name: 'create_check',
    title: 'Create a check',
    description: 'Creates a check. Call describe_check_type first for the fields of its type.',
    operations: ['createCheck'],
    bodyAs: check('The fields of the check, including checkType'),
  },
  {
    name: 'update_check',
    title: 'Change a check',
    description: 'Changes the given fields of a check; all others keep their value.',
    operations: ['updateCheck'],
    names: ofCheck,
    bodyAs: check('The fields to change'),
  },
  {
    name: 'restore_steps',
    title: 'Restore older steps of an agentic check',
    description:
      'Makes an older version of the steps the newest one, which runs use. list_steps lists the versions.',
    operations: ['restoreCheckPlan'],
  },
  {
    name: 'acknowledge_alert',
    title: 'Acknowledge an alert',
    description: 'Acknowledges the open alerts of a check: no reminders and no escalation until it recovers.',
    operations: ['acknowledgeAlert'],
    names: ofCheck,
  },
  {
    name: 'withdraw_acknowledgement',
    title: 'Withdraw an acknowledgement',
    description: 'Reminders and escalation of a check continue.',
    operations: ['withdrawAcknowledgement'],
    names: ofCheck,
  },
  {
    name: 'create_silence',
    title: 'Silence alerts',
    description:
      'Suppresses notifications for a check, for checks with tags, or for failures at a location, until a given time.',
    operations: ['createSilence'],
  },
  {
    name: 'end_silence',
    title: 'End a silence',
    description: 'Ends a silence now.',
    operations: ['endSilence'],
    names: { id: 'silenceId' },
  },
  {
    name: 'archive_error_group',
    title: 'Archive an error group',
    description: 'Archives an error group until it recurs or permanently, or restores it.',
    operations: ['updateErrorGroup'],
    names: { id: 'errorGroupId' },
  },
  {
    name: 'find_root_cause',
    title: 'Analyse a root cause',
    description:
      'Makes the service analyse the cause of an error group now; it analyses new groups automatically. Returns the id for get_root_cause.',
    operations: ['analyseErrorGroup'],
    names: { id: 'errorGroupId' },
  },
  {
    name: 'judge_root_cause',
    title: 'Judge a root cause analysis',
    description: 'Marks an analysis as RIGHT or WRONG, visible to other users; null removes the mark.',
    operations: ['updateRootCauseAnalysis'],
    names: { id: 'analysisId' },
  },
  {
    name: 'create_incident',
    title: 'Open an incident',
    description: 'Opens an incident on status pages. It is public: subscribers may be mailed.',
    operations: ['createIncident'],
  },
  {
    name: 'add_incident_update',
    title: 'Update an incident',
    description:
      'Posts the progress of an incident, or resolves it. It is public: subscribers may be mailed.',
    operations: ['createIncidentUpdate'],
  },
  {
    name: 'create_maintenance_window',
    title: 'Plan maintenance',
    description: 'Plans a period in which checks are paused or alerts are silenced.',
    operations: ['createMaintenanceWindow'],
  },
];
