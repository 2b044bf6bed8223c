/**
 * Types of `require('edgehost')`. Under `module: "node16"` TypeScript does not let CommonJS require the types of an ES module; these are of
 * CommonJS and name each value of it.
 */
import type * as edgehost from './index.js' with { 'resolution-mode': 'import' };

export type * from './index.js' with { 'resolution-mode': 'import' };

export declare const ABUSE_RULE_ID: typeof edgehost.ABUSE_RULE_ID;
export declare const auditRequests: typeof edgehost.auditRequests;
export declare const EdgeError: typeof edgehost.EdgeError;
export type EdgeError = edgehost.EdgeError;
export declare const EdgeHost: typeof edgehost.EdgeHost;
export type EdgeHost = edgehost.EdgeHost;
export declare const FunctionSocket: typeof edgehost.FunctionSocket;
export type FunctionSocket = edgehost.FunctionSocket;
export declare const FunctionSocketCloseEvent: typeof edgehost.FunctionSocketCloseEvent;
export type FunctionSocketCloseEvent = edgehost.FunctionSocketCloseEvent;
export declare const repairStorage: typeof edgehost.repairStorage;
export declare const UpgradedResponse: typeof edgehost.UpgradedResponse;
export type UpgradedResponse = edgehost.UpgradedResponse;
export declare const usageCsv: typeof edgehost.usageCsv;
