package config

// securityTable lists the settings of secured listeners.
func securityTable() []*Def {
	return []*Def{
		{
			Name: "authorizer.class.name", Type: String, Class: Rejected,
			Doc: "The class that decides who may do what; access control is not served yet.",
		},
		{
			Name: "connection.failed.authentication.delay.ms", Type: Int, Default: "100",
			Doc: "Setting of secured listeners, which are not served yet.",
		},
		{
			Name: "connections.max.reauth.ms", Type: Long, Default: "0",
			Doc: "Setting of secured listeners, which are not served yet.",
		},
		{
			Name: "delegation.token.expiry.check.interval.ms", Type: Long, Default: "3600000",
			Doc: "Setting of delegation tokens, which are not served yet.",
		},
		{
			Name: "delegation.token.expiry.time.ms", Type: Long, Default: "86400000",
			Doc: "Setting of delegation tokens, which are not served yet.",
		},
		{
			Name: "delegation.token.max.lifetime.ms", Type: Long, Default: "604800000",
			Doc: "Setting of delegation tokens, which are not served yet.",
		},
		{
			Name: "delegation.token.secret.key", Type: Password, NoDefault: true,
			Doc: "Setting of delegation tokens, which are not served yet.",
		},
		{
			Name: "principal.builder.class", Type: ClassRef, Default: "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder", Update: PerBroker,
			Doc: "Setting of secured listeners, which are not served yet.",
		},
		{
			Name: "sasl.client.callback.handler.class", Type: ClassRef, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.enabled.mechanisms", Type: List, Default: "GSSAPI", Update: PerBroker,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.jaas.config", Type: Password, NoDefault: true, Update: PerBroker,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.kerberos.kinit.cmd", Type: String, Default: "/usr/bin/kinit", Update: PerBroker,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.kerberos.min.time.before.relogin", Type: Long, Default: "60000", Update: PerBroker,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.kerberos.principal.to.local.rules", Type: List, Default: "DEFAULT", Update: PerBroker,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.kerberos.service.name", Type: String, NoDefault: true, Update: PerBroker,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.kerberos.ticket.renew.jitter", Type: Double, Default: "0.05", Update: PerBroker,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.kerberos.ticket.renew.window.factor", Type: Double, Default: "0.8", Update: PerBroker,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.login.callback.handler.class", Type: ClassRef, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.login.class", Type: ClassRef, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.login.connect.timeout.ms", Type: Int, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.login.read.timeout.ms", Type: Int, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.login.refresh.buffer.seconds", Type: Short, Default: "300", Update: PerBroker,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.login.refresh.min.period.seconds", Type: Short, Default: "60", Update: PerBroker,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.login.refresh.window.factor", Type: Double, Default: "0.8", Update: PerBroker,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.login.refresh.window.jitter", Type: Double, Default: "0.05", Update: PerBroker,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.login.retry.backoff.max.ms", Type: Long, Default: "10000",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.login.retry.backoff.ms", Type: Long, Default: "100",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.mechanism.controller.protocol", Type: String, Default: "GSSAPI",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.mechanism.inter.broker.protocol", Type: String, Default: "GSSAPI", Update: PerBroker,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.assertion.algorithm", Type: String, Default: "RS256",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.assertion.claim.aud", Type: String, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.assertion.claim.exp.seconds", Type: Int, Default: "300",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.assertion.claim.iss", Type: String, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.assertion.claim.jti.include", Type: Boolean, Default: "false",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.assertion.claim.nbf.seconds", Type: Int, Default: "60",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.assertion.claim.sub", Type: String, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.assertion.file", Type: String, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.assertion.private.key.file", Type: String, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.assertion.private.key.passphrase", Type: Password, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.assertion.template.file", Type: String, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.client.credentials.client.id", Type: String, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.client.credentials.client.secret", Type: Password, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.clock.skew.seconds", Type: Int, Default: "30",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.expected.audience", Type: List,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.expected.issuer", Type: String, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.jwks.endpoint.refresh.ms", Type: Long, Default: "3600000",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", Type: Long, Default: "10000",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", Type: Long, Default: "100",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.jwks.endpoint.url", Type: String, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.jwt.retriever.class", Type: ClassRef, Default: "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.jwt.validator.class", Type: ClassRef, Default: "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.scope", Type: String, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.scope.claim.name", Type: String, Default: "scope",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.sub.claim.name", Type: String, Default: "sub",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.oauthbearer.token.endpoint.url", Type: String, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.server.callback.handler.class", Type: ClassRef, NoDefault: true,
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "sasl.server.max.receive.size", Type: Int, Default: "524288",
			Doc: "SASL setting; without effect while no listener uses SASL, which is not served yet.",
		},
		{
			Name: "security.inter.broker.protocol", Type: String, Default: "PLAINTEXT",
			Doc: "Setting of secured listeners, which are not served yet.",
		},
		{
			Name: "security.providers", Type: String, NoDefault: true,
			Doc: "Setting of secured listeners, which are not served yet.",
		},
		{
			Name: "ssl.allow.dn.changes", Type: Boolean, Default: "false",
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.allow.san.changes", Type: Boolean, Default: "false",
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.cipher.suites", Type: List, Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.client.auth", Type: String, Default: "none", Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.enabled.protocols", Type: List, Default: "TLSv1.2,TLSv1.3", Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.endpoint.identification.algorithm", Type: String, Default: "https", Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.engine.factory.class", Type: ClassRef, NoDefault: true, Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.key.password", Type: Password, NoDefault: true, Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.keymanager.algorithm", Type: String, Default: "SunX509", Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.keystore.certificate.chain", Type: Password, NoDefault: true, Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.keystore.key", Type: Password, NoDefault: true, Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.keystore.location", Type: String, NoDefault: true, Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.keystore.password", Type: Password, NoDefault: true, Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.keystore.type", Type: String, Default: "JKS", Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.principal.mapping.rules", Type: String, Default: "DEFAULT",
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.protocol", Type: String, Default: "TLSv1.3", Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.provider", Type: String, NoDefault: true, Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.secure.random.implementation", Type: String, NoDefault: true, Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.trustmanager.algorithm", Type: String, Default: "PKIX", Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.truststore.certificates", Type: Password, NoDefault: true, Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.truststore.location", Type: String, NoDefault: true, Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.truststore.password", Type: Password, NoDefault: true, Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
		{
			Name: "ssl.truststore.type", Type: String, Default: "JKS", Update: PerBroker,
			Doc: "TLS setting; without effect while no listener uses TLS, which is not served yet.",
		},
	}
}
