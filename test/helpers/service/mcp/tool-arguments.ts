import { samples } from '../../../integration/conformance/samples/url.ts';
import type { InhabitedAccount } from '../api-requests/inhabited-account.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** Valid arguments of every tool, for an account with one object of every kind. */
export function toolArguments({ known }: InhabitedAccount): ReadonlyMap<string, Arguments> {
  const idOf = (path: string) => known.of(path)[0]?.at(-1) ?? '';
  const [checkId = '', resultId = ''] = known.of('/v1/check-results/{}/{}')[0] ?? [];
  const [testSessionId = '', testResultId = ''] = known.of('/v1/test-sessions/{}/results/{}')[0] ?? [];
  const locationId = idOf('/v1/private-locations/{}');
  const incidentId = idOf('/v1/status-pages/incidents/{}');
  const checkSessionId = idOf('/v1/check-sessions/{}');
  const serviceId = idOf('/v1/status-pages/services/{}');
  const update = { status: 'INVESTIGATING', description: 'Looking into it' };
  return new Map<string, Arguments>([
    ['list_checks', { limit: 5, search: 'failing' }],
    ['get_check', { checkId }],
    ['list_steps', { checkId }],
    ['list_check_statuses', {}],
    ['get_check_status', { checkId }],
    ['list_check_groups', {}],
    ['list_check_results', { checkId, hasFailures: true }],
    ['get_check_result', { checkId, resultId }],
    ['read_artifact', { checkId, resultId, name: 'logs/run.log' }],
    ['list_check_slots', { checkId }],
    ['count_check_slots', { checkId }],
    [
      'get_check_analytics',
      { checkId, checkType: 'URL', metrics: 'availability', quickRange: 'last24Hours' },
    ],
    ['list_analytics_metrics', { checkType: 'URL' }],
    ['compare_checks', { checkIds: [checkId], quickRange: 'last24Hours' }],
    ['get_report', {}],
    ['list_open_alerts', {}],
    ['list_alerts', { checkId }],
    ['list_alert_notifications', {}],
    ['list_alert_causes', { isOpen: true }],
    ['get_alert_cause', { causeId: crypto.randomUUID() }],
    ['list_monitoring_gaps', {}],
    ['list_silences', { active: true }],
    ['list_error_groups', { checkId }],
    ['get_error_group', { errorGroupId: idOf('/v1/error-groups/{}') }],
    ['get_root_cause', { analysisId: idOf('/v1/root-cause-analyses/{}') }],
    ['get_check_session', { checkSessionId }],
    ['wait_for_check_session', { checkSessionId, maxWaitSeconds: 1 }],
    ['list_test_sessions', {}],
    ['get_test_session', { testSessionId }],
    ['get_test_session_result', { testSessionId, resultId: testResultId }],
    ['list_incidents', {}],
    ['get_incident', { incidentId }],
    ['list_status_pages', {}],
    ['list_status_page_services', {}],
    ['list_maintenance_windows', {}],
    ['list_private_locations', {}],
    ['list_location_events', { locationId }],
    ['get_location_coverage', { locationId }],
    ['list_heartbeat_events', { checkId: idOf('/v1/checks/heartbeat/{}') }],
    ['list_slos', {}],
    ['get_slo_status', { sloId: Number(idOf('/v1/slos/{}')) }],
    ['list_audit_log', { limit: 3 }],
    ['get_account', {}],
    ['describe_check_type', { checkType: 'URL' }],
    ['run_checks', { target: { checkId: [checkId] } }],
    ['create_check', { check: { name: 'made', checkType: 'URL', ...samples.minimal } }],
    ['update_check', { checkId, check: { name: 'renamed' } }],
    ['restore_steps', { checkId, version: 1 }],
    ['acknowledge_alert', { checkId, comment: 'on it' }],
    ['withdraw_acknowledgement', { checkId }],
    ['create_silence', { tags: ['silent'], minutes: 5 }],
    ['end_silence', { silenceId: idOf('/v1/silences/{}') }],
    ['find_root_cause', { errorGroupId: idOf('/v1/error-groups/{}') }],
    ['judge_root_cause', { analysisId: idOf('/v1/root-cause-analyses/{}'), verdict: 'RIGHT' }],
    ['archive_error_group', { errorGroupId: idOf('/v1/error-groups/{}'), archiveForEver: true }],
    [
      'create_incident',
      { name: 'Shop is slow', severity: 'MINOR', services: [{ id: serviceId }], incidentUpdates: [update] },
    ],
    ['add_incident_update', { incidentId, ...update }],
    [
      'create_maintenance_window',
      {
        name: 'Move',
        startsAt: '2031-01-01T00:00:00Z',
        endsAt: '2031-01-01T01:00:00Z',
        silenceAllAlerts: true,
      },
    ],
  ]);
}
