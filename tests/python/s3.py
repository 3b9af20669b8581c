"""An S3 server on a free port of this machine, with an empty bucket; it ends with its input."""

import sys

import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
address = "http://%s:%d" % server.get_host_and_port()
keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
boto3.client("s3", endpoint_url=address, **keys).create_bucket(Bucket=sys.argv[1])
print(address, flush=True)
sys.stdin.read()
