/** Adapters that make a sandbox the back end of an agent framework: `edgehost/ai`. They import nothing of the frameworks. */
export { type AiTool, type AiToolOptions, aiTool, type CodeAnswer, type CodeInput } from './ai/ai-tool.js';
export type { Box } from './ai/box.js';
export { type CodemodeExecutor, codemodeExecutor } from './ai/codemode-executor.js';
export { type MastraTransport, mastraTransport } from './ai/mastra-transport.js';
export { type McpClient, mcp } from './ai/mcp-tools.js';
export { type TanstackDriver, tanstackDriver } from './ai/tanstack-driver.js';
