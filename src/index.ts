export type { AssetsOptions, HtmlHandling, NotFoundHandling } from './bindings/assets/asset-options.js';
export type * from './bindings/bucket/types.js';
export type * from './bindings/cache/types.js';
export type {
  ApplicationCallback,
  ApplicationCallbacks,
  CallbackContext,
  CallbackOptions,
} from './bindings/callbacks/types.js';
export type { OutboundHandler } from './bindings/egress/outbound-transport.js';
export type {
  EgressHost,
  EgressRules,
  EgressSecret,
  EgressSecretPlace,
} from './bindings/egress/rules/egress-rules.js';
export type * from './bindings/kv/types.js';
export type { LoaderTarget } from './bindings/loader/types.js';
export type {
  AccountQueue,
  AccountQueueMetrics,
  PulledMessage,
  QueuePullOptions,
  QueueSendOptions,
  QueueSendRequest,
  QueueSendResult,
  QueueSettled,
  QueueSettlement,
} from './bindings/queue/host-queue.js';
export type { QueueProducer } from './bindings/queue/queue-binding.js';
export type { QueueContentType } from './bindings/queue/wire.js';
export type { AppliedMigration } from './bindings/sql/engine.js';
export type { AccountSqlDatabase, SqlContent, SqlMigration } from './bindings/sql/host-sql.js';
export type {
  SqlDatabase,
  SqlExecResult,
  SqlMeta,
  SqlResult,
  SqlSession,
  SqlStatement,
  SqlValue,
} from './bindings/sql/types.js';
export {
  type AuditedRequest,
  type AuditFinding,
  type AuditOptions,
  auditRequests,
} from './cli/deprecation-check/requests.js';
export type { QueueConsumerOptions } from './config-schema/consumer-shapes.js';
export type { CronMissed, CronOptions, CronOverlap } from './config-schema/cron-trigger.js';
export type { Account } from './host/account.js';
export type { AccountInfo } from './host/account-info.js';
export type { HostCell, HostWatch } from './host/cells/host-cells.js';
export type { FolderSource } from './host/deploy/bundle/bundle-source.js';
export type { ModuleSource, ScriptSource } from './host/deploy/deployment.js';
export type { LoadFileOptions } from './host/deploy/load-file.js';
export type { EdgeFunction, FunctionFetchOptions } from './host/edge-function.js';
export { EdgeHost, type HostHealth } from './host/edge-host.js';
export type { QueueMessage, QueueOutcome, QueueRetry } from './host/events/queue-batch.js';
export type {
  CronEvent,
  EgressEvent,
  HostEvents,
  InvocationEvent,
  InvocationOutcome,
  LogEvent,
  LogLevel,
} from './host/events.js';
export type { AccountStatsSnapshot } from './host/functions/loaded-functions.js';
export type { ListenerOptions, NodeListener } from './host/ingress/listener.js';
export {
  FunctionSocket,
  FunctionSocketCloseEvent,
  type FunctionSocketEvents,
  UpgradedResponse,
} from './host/ingress/websocket/function-socket.js';
export type { FunctionStatsSnapshot, HistogramSnapshot } from './host/invocation/function-stats.js';
export type { TraceRequest } from './host/invocation/reports/redact.js';
export type { CellEvent } from './host/invocation/reports/telemetry.js';
export type {
  TraceEvent,
  TraceException,
  TraceItem,
  TraceLog,
  TraceOutcome,
} from './host/invocation/reports/trace-item.js';
export type { HostManagement, HostManagementOptions } from './host/management-endpoint.js';
export type { ApplicationObjects, ObjectHandle } from './host/objects/application-objects.js';
export type { EdgeHostOptions, EgressOptions } from './host/options/host-options.js';
export type {
  AccountOptions,
  AccountUpdate,
  AssetsLoadOptions,
  LoadOptions,
  RouteOptions,
} from './host/options/options.js';
export type { AccountRemoval, AccountRemovalOptions } from './host/options/removal-options.js';
export type { HostS3Credential, HostS3Options } from './host/options/s3-options.js';
export {
  type CheckOptions,
  type RepairOptions,
  type RepairStep,
  repairStorage,
  type StorageRepairReport,
} from './host/repair-storage.js';
export type { FunctionRpc, RpcOptions } from './host/rpc/application-rpc.js';
export type { AccountSandbox } from './host/runs/sandbox.js';
export type { NarrowedOptions, SandboxOptions } from './host/runs/sandbox-options.js';
export type { SandboxSession, SessionOptions, SessionResult } from './host/runs/session.js';
export type { Tool, ToolContext, ToolJsonSchema, ToolSchema, Tools, ToolsOf } from './host/runs/tools/tool-types.js';
export type {
  Approval,
  PausedRun,
  PendingCall,
  ResumeOptions,
  RunCall,
  RunError,
  RunLog,
  RunOptions,
  RunResult,
  RunUsage,
  SandboxLimits,
} from './host/runs/types.js';
export type { HostS3 } from './host/s3-endpoint.js';
export type { Tail } from './host/tails/tail.js';
export type { TailFilter, TailOptions } from './host/tails/tail-filter.js';
export type { MetricsOptions } from './host/usage/host-metrics.js';
export type { HostUsageQuery } from './host/usage/host-usage.js';
export type { SandboxOption } from './pool/sandbox/sandbox.js';
export type { SandboxLayer, SandboxMode, SandboxState } from './pool/sandbox/state.js';
export { EdgeError, type EdgeErrorCode, type ExceededLimit, type SourceLocation } from './quotas/errors.js';
export type { LimitWarning } from './quotas/limit-warnings.js';
export type { InvocationKind, Plan, ZonePlan } from './quotas/limits.js';
export { ABUSE_RULE_ID, type AbuseEvent } from './quotas/requests/abuse-guard.js';
export type { LimitOverrides } from './quotas/resolve-limits.js';
export type { StoredSum } from './storage/accounts/account-sum.js';
export type { RecountedSum } from './storage/accounts/account-sums.js';
export type { CheckProgress, DamagedPart, StorageCheck } from './storage/repair/check-storage.js';
export type { RepairedDatabase } from './storage/repair/repair-storage.js';
export type { StorageRepair } from './storage/storage.js';
export { usageCsv } from './usage/usage-csv.js';
export type { UsageBy, UsageQuery } from './usage/usage-query.js';
export type { StoredUsage, UsageRecord, UsageReport } from './usage/usage-report.js';
export type { UsageValues } from './usage/usage-values.js';
