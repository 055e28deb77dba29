import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

export const healthPath = '/grpc.health.v1.Health/Check';

/** HealthCheckResponse.ServingStatus, by number. */
export const healthStatusNames = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;

/** @param service "" stands for the server as a whole. */
export function healthRequest(service: string): Uint8Array {
  const writer = new BinaryWriter();
  return service === '' ? writer.finish() : writer.tag(1, WireType.LengthDelimited).string(service).finish();
}

/** @throws Error if the bytes are not a response of a health service. */
export function healthStatusOf(message: Uint8Array): number {
  const reader = new BinaryReader(message);
  let status = 0;
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1 && wireType === WireType.Varint) status = reader.int32();
    else reader.skip(wireType, field);
  }
  return status;
}
