/** Why a scheduled handler runs. */
export interface ScheduledTime {
  /** The expression as it was configured. */
  readonly cron: string;
  /** Milliseconds since the epoch. */
  readonly scheduledTime: number;
  noRetry(): void;
}
