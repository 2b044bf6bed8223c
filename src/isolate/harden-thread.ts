export function hardenThread(): void {}
