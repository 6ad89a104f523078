module github.com/moldau-broker/moldau/compat/confluent-kafka-go

go 1.26.0

require github.com/confluentinc/confluent-kafka-go/v2 v2.14.1
