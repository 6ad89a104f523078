#!/bin/sh
exec /etc/kafka/docker/launch
