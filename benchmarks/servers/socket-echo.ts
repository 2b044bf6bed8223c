/** Sends back what comes over the inherited socket. */
import { Socket } from 'node:net';
import process from 'node:process';

const SOCKET_FD = 3;

const socket = new Socket({ fd: SOCKET_FD, readable: true, writable: true });
socket.on('data', bytes => socket.write(bytes));
socket.on('close', () => process.exit(0));
